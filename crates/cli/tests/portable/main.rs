//! A gateway from its creation to its end, with what every system has: no shell, no signals, no file
//! modes. The server is that of `weaver demo`, so nothing else is installed.

#![cfg(test)]

mod daemon;
mod gateway;
mod standalone;
