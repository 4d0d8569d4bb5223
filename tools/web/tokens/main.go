// Command tokens makes and renames tokens on the demo chain, by transactions that are sent as
// anybody's are.
//
//	go run ./tools/web/tokens RPC-URL < wanted.json > mints.json
//
// In: a list of tokens, see Token. Out: their mints in the same order, once each transaction has
// landed. An empty text stands for a token that could not be renamed: its metadata may be
// immutable, or belong to somebody else by now. Guarantees: it fails if a transaction did not land,
// or a token could not be made.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/testworld/chain"
)

// Token is what a token shall be called. Texts are bytes, in base64: what a chain holds need not be
// UTF-8.
type Token struct {
	// Mint is a mint that exists, and whose update authority is a wallet of the demo chain. It is
	// renamed. Without it a mint is made.
	Mint string `json:"mint"`
	// Program is "token", with Metaplex metadata, or "token-2022", with its own.
	Program string `json:"program"`
	Name    []byte `json:"name"`
	Symbol  []byte `json:"symbol"`
	URI     []byte `json:"uri"`
	// Fields are additional fields of Token-2022 metadata.
	Fields [][2][]byte `json:"fields"`
	// Authority is the update authority of Mint.
	Authority string `json:"authority"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tokens RPC-URL < wanted.json")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

func run(url string) error {
	var wanted []Token
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client, err := rpc.NewClient(rpc.Config{Endpoints: []string{url}}, rpc.Deps{})
	if err != nil {
		return err
	}
	s := &sender{rpc: client, failed: map[string]bool{}, wallets: map[string]solana.PrivateKey{}}
	if err := s.fund(ctx); err != nil {
		return err
	}
	// first has for each token the index of its first transaction in s.sent, and at its end
	// len(s.sent).
	mints, first := make([]string, len(wanted)), make([]int, len(wanted)+1)
	for i := range wanted {
		first[i] = len(s.sent)
		mint, err := s.token(ctx, &wanted[i])
		if err != nil {
			return fmt.Errorf("token %d: %w", i, err)
		}
		mints[i] = mint
	}
	first[len(wanted)] = len(s.sent)
	if err := s.landed(ctx); err != nil {
		return err
	}
	for i := range wanted {
		if !slices.ContainsFunc(s.sent[first[i]:first[i+1]], func(signature string) bool { return s.failed[signature] }) {
			continue
		}
		if wanted[i].Mint == "" {
			return fmt.Errorf("token %d: a transaction failed on the chain", i)
		}
		mints[i] = ""
	}
	return json.NewEncoder(os.Stdout).Encode(mints)
}

// demoSeed is the seed of a demo chain that names none.
const demoSeed = 0

// demoWallets is how many wallets such a chain has.
const demoWallets = 512

// wallet returns the key of a wallet of the demo chain.
func (s *sender) wallet(address string) (solana.PrivateKey, error) {
	if len(s.wallets) == 0 {
		for i := range uint64(demoWallets) {
			key := solana.PrivateKey(chain.DemoWallet(demoSeed, i))
			s.wallets[key.PublicKey().String()] = key
		}
	}
	key, ok := s.wallets[address]
	if !ok {
		return nil, fmt.Errorf("%s is no wallet of the demo chain", address)
	}
	return key, nil
}

// newKey makes a key pair.
func newKey() (solana.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	return solana.PrivateKey(key), err
}
