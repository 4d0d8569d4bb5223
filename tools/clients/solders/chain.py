"""The node that the suite runs against, over JSON-RPC."""

import itertools
import json
import os
import time
import urllib.error
import urllib.request

from solders.keypair import Keypair

RPC, SWAP = os.environ["MINTLAKE_RPC"], os.environ["MINTLAKE_SWAP"]
ids = itertools.count(1)


def fetch(request):
    """Returns what a request answers: a node that is late is asked again for 90 seconds."""
    end = time.time() + 90
    while True:
        try:
            return json.load(urllib.request.urlopen(request, timeout=60))
        except urllib.error.HTTPError as answer:
            if answer.code not in (429, 502, 503) or time.time() > end:
                raise AssertionError(answer.code, answer.read()) from answer
            time.sleep(0.5)


def post(url, body):
    return fetch(urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}))


def call(method, *params):
    """Returns the answer to a call of JSON-RPC."""
    return post(RPC, {"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params})


def result(method, *params):
    answer = call(method, *params)
    assert "error" not in answer, (method, answer["error"])
    return answer["result"]


def until(what, look):
    end = time.time() + 90
    while time.time() < end:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError(f"{what}: not seen within 90 s")


def landed(signature):
    status = result("getSignatureStatuses", [signature])["value"][0]
    return status and status["confirmationStatus"] != "processed" and status


def funded(lamports):
    """Returns a new wallet that has SOL."""
    wallet = Keypair()
    airdrop = result("requestAirdrop", str(wallet.pubkey()), lamports)
    assert until("the airdrop", lambda: landed(airdrop))["err"] is None
    return wallet
