package demo

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// ListName is the name of the node's token list.
const ListName = "Mintlake demo"

// TokenList returns a curated list: the tokens of genesis, each with the tag verified, in the
// schema of token lists; and its signature in base64, by the key signer over the bytes of the file.
// A chain has the same list after a restart at the same address. Call it after WaitReady.
func (n *Node) TokenList() (file, signature []byte, signer ed25519.PublicKey) {
	type token struct {
		ChainID  int      `json:"chainId"`
		Address  string   `json:"address"`
		Symbol   string   `json:"symbol"`
		Name     string   `json:"name"`
		Decimals uint8    `json:"decimals"`
		LogoURI  string   `json:"logoURI"`
		Tags     []string `json:"tags"`
	}
	const mainnet = 101 // lists of other chains are not read
	tokens := []token{}
	for _, t := range n.gen.Listed() {
		tokens = append(tokens, token{
			ChainID: mainnet, Address: t.Mint.String(), Symbol: t.Symbol, Name: t.Name, Decimals: t.Decimals,
			LogoURI: fmt.Sprintf("%s/logo/%s.svg", n.BaseURL(), t.Mint), Tags: []string{"verified"},
		})
	}
	begun := time.UnixMilli(n.gen.Config().TimeMS(n.gen.Config().GenesisSlot)).UTC()
	list := map[string]any{"name": ListName, "timestamp": begun.Format(time.RFC3339), "tokens": tokens}
	file, err := json.MarshalIndent(list, "", "  ")
	if err != nil { // texts and numbers always encode
		panic(fmt.Sprintf("encode the demo's token list: %v", err))
	}
	key := n.gen.Curator()
	signature = []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(key, file)))
	return file, signature, ed25519.PublicKey(key[ed25519.SeedSize:])
}
