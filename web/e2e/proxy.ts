/** A reverse proxy with common defaults: it sets its own `Host` and forwards everything else unchanged. */

import { createServer, request, type IncomingMessage, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export class RewritingProxy {
  /** The port of the session behind the proxy. */
  target = 0;
  readonly #sockets = new Set<Duplex>();

  private constructor(private readonly server: Server) {
    server.on("request", (incoming, response) => {
      const forwarded = request(this.#options(incoming), (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(response);
      });
      forwarded.on("error", () => response.destroy());
      incoming.pipe(forwarded);
    });
    server.on("upgrade", (incoming, socket) => this.#upgrade(incoming, socket));
  }

  static async start(): Promise<RewritingProxy> {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return new RewritingProxy(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.server.closeAllConnections();
    this.server.close();
  }

  #options({ method, url, headers }: IncomingMessage) {
    const own = { ...headers, host: `localhost:${this.target}` };
    return { host: "127.0.0.1", port: this.target, method, path: url, headers: own };
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex): void {
    const { method, path, headers, ...target } = this.#options(incoming);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    const session = connect(target, () => {
      session.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
      session.pipe(socket).pipe(session);
    });
    for (const end of [session, socket]) {
      this.#sockets.add(end);
      end.on("error", () => [session, socket].forEach((each) => each.destroy()));
    }
  }
}
