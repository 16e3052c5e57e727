"""Makes and dumps a database: `database.py make FILE < SQL`, `database.py dump FILE`."""

import sqlite3
import sys


def main():
    what, file = sys.argv[1:]
    connection = sqlite3.connect(file)
    if what == "make":
        connection.executescript(sys.stdin.read())
        connection.commit()
    else:
        sys.stdout.reconfigure(encoding="utf-8")
        for line in connection.iterdump():
            print(line)
    connection.close()


main()
