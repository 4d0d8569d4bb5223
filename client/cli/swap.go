package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// errNotDemo keeps the command away from real money, because it signs what a server wrote.
var errNotDemo = errors.New("--swap works on the demo chain only, and this node's source is not demo: elsewhere, sign the transaction with a wallet")

// keyOf reads a key file of solana-keygen: a JSON array of 64 numbers, the seed and the public key.
func keyOf(path string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var numbers []byte
	var list []uint16
	if json.Unmarshal(text, &list) == nil {
		for _, n := range list {
			numbers = append(numbers, byte(min(n, 255)))
		}
	}
	if len(numbers) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("%s is no key file: it must be a JSON array of %d numbers, as solana-keygen writes it", path, ed25519.PrivateKeySize)
	}
	key := ed25519.NewKeyFromSeed(numbers[:ed25519.SeedSize])
	if !bytes.Equal(key, numbers) {
		return nil, fmt.Errorf("%s is no key file: its public key is not that of its seed", path)
	}
	return key, nil
}

// signed signs a transaction of version 0 that one key signs: a count of 1, the signature, and the
// message.
func signed(text string, key ed25519.PrivateKey) (string, error) {
	const messageAt = 1 + ed25519.SignatureSize
	wire, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(wire) <= messageAt || wire[0] != 1 {
		return "", errors.New("the answer's transaction is not one that the user alone signs")
	}
	copy(wire[1:], ed25519.Sign(key, wire[messageAt:]))
	return base64.StdEncoding.EncodeToString(wire), nil
}

// swap makes a swap on the demo chain: it asks for the transaction, signs it, sends it, and shows
// what became of it.
func (a *ask) swap(ctx context.Context, file string, sides [2]*rest.Token, amount string, slippage int) error {
	status, err := a.Status(ctx)
	if err != nil {
		return err
	}
	if kind := status.Source.Kind; kind == nil || *kind != "demo" {
		return errNotDemo
	}
	key, err := keyOf(file)
	if err != nil {
		return err
	}
	user := pubkey.Key(key[ed25519.SeedSize:]).String()
	answer, quote, err := a.Swap(ctx, sides[0].Mint, sides[1].Mint, amount, slippage, user, nil)
	if err != nil {
		return err
	}
	transaction, err := signed(quote.Txn, key)
	if err != nil {
		return err
	}
	sent, err := a.Send(ctx, answer, transaction)
	if err != nil {
		return err
	}
	if a.json {
		text, err := json.Marshal(sent)
		if err != nil {
			return err
		}
		return a.raw(text)
	}
	return a.showSent(quote, sent, sides[0], sides[1])
}

func (a *ask) showSent(quote *client.SwapQuote, sent *client.SwapSent, sell, buy *rest.Token) error {
	var table terminal.Table
	add := func(name, value string, style terminal.Style) {
		table.Row(terminal.Cell{Text: name, Style: terminal.Dim}, terminal.Cell{Text: value, Style: style})
	}
	style := terminal.Bold
	if sent.Status != "landed" {
		style = terminal.Red
	}
	add("swap", sent.Status, style)
	add("signature", sent.Signature, terminal.Plain)
	if sent.Status == "landed" {
		add("sold", terminal.Amount(sent.AmountIn, sell.Decimals)+" "+sell.Symbol, terminal.Plain)
		add("got", terminal.Amount(sent.AmountOut, buy.Decimals)+" "+buy.Symbol, terminal.Bold)
	}
	add("quoted", terminal.Amount(quote.AmountOut, buy.Decimals)+" "+buy.Symbol, terminal.Plain)
	if sent.SlippageBPS != nil {
		add("slippage", fmt.Sprintf("%.4f %%", *sent.SlippageBPS/100), terminal.Plain)
	}
	if sent.Slot != nil {
		add("slot", terminal.Count(*sent.Slot), terminal.Plain)
	}
	if string(sent.Err) != "null" && len(sent.Err) > 0 {
		add("error", string(sent.Err), terminal.Red)
	}
	return table.Write(a.out, a.paint)
}
