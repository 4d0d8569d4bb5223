package architecture

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// base58Users are the packages that import the base58 library, each with what it encodes. Any other
// package holds addresses as pubkey.Key (decision 0020).
var base58Users = map[string]string{
	"schemas/pubkey":        "addresses",
	"ingest/source/parse":   "signatures, hashes and data in the JSON of blocks",
	"ingest/runner":         "Kafka keys, from messages",
	"registry":              "values of facts, from messages",
	"registry/root":         "the root's sum",
	"projector":             "columns of events, from messages",
	"projector/swaps":       "signatures",
	"api/balances":          "signatures",
	"api/trades":            "signatures",
	"replica/packed":        "content ids of IPFS",
	"gateway/jsonrpc":       "transactions and signatures",
	"gateway/stream":        "the JSON of transactions, from messages; signatures",
	"gateway/subscriptions": "signatures",
	"swap/trust":            "signatures and data of instructions",
	"logos/fetch":           "content ids of IPFS",
	"solana":                "bytes of accounts, in filters of requests",
	"access/keys":           "secrets",
	"e2e/oracle":            "addresses as answers have them, computed apart from the product",
}

// An address has one form inside the product. A package that starts to encode addresses by itself
// also starts to hold them in another form.
func TestAddressesAreKeys(t *testing.T) {
	found := 0
	for _, p := range packages(t) {
		folder := p.folder()
		if !slices.Contains(p.Imports, "github.com/mr-tron/base58") {
			continue
		}
		if base58Users[folder] != "" {
			found++
			continue
		}
		require.True(t, isIn(folder, support, world), "%s imports mr-tron/base58: hold addresses as pubkey.Key, or say in base58Users what it encodes", folder)
	}
	require.Equal(t, len(base58Users), found, "a package of base58Users does not import the library any more: take it out")
}
