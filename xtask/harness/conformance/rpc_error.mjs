// An error of JSON-RPC, as a method throws it.
export class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }

  get body() {
    return { code: this.code ?? -32603, message: this.message, ...(this.data && { data: this.data }) };
  }
}
