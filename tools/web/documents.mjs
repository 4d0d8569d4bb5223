// Serves the documents of the tokens that are made of payloads: GET /N.json. Prints its address.
import { createServer } from "node:http";
import { documentOf } from "./strangers.mjs";

const server = createServer((request, response) => {
  const document = documentOf(Number(/^\/(\d+)\.json$/.exec(request.url)?.[1]));
  response.writeHead(document ? 200 : 404, { "Content-Type": "application/json" });
  response.end(document ? JSON.stringify(document) : "{}");
});
server.listen(0, "127.0.0.1", () => console.log(`127.0.0.1:${server.address().port}`));
