// What a page of /docs does besides being read: it names this node's addresses, and draws the
// operations of an OpenAPI document.
import { render } from "preact";
import { Operations } from "./operations";
import { swapAddress } from "./document";
import "../src/style.css";
import "./docs.css";

/** written are the addresses that the pages name; here they are this node's. */
const written: [string, string][] = [["http://127.0.0.1:8080", location.origin]];
if (swapAddress) written.push(["http://127.0.0.1:8081", swapAddress]);

for (const code of document.querySelectorAll("main code")) {
  for (const node of code.childNodes) {
    if (node instanceof Text) node.data = written.reduce((text, [from, to]) => text.replaceAll(from, to), node.data);
  }
}

const place = document.getElementById("operations");
if (place?.dataset.document) {
  place.replaceChildren();
  render(<Operations of={place.dataset.document === "swap" ? "swap" : "token"} />, place);
}
