package registry

import (
	"encoding/json"
	"math"
)

// Listing is a token list that holds a token, with what a client needs to check that it does.
type Listing struct {
	// List is the list's name on this node.
	List string `json:"list"`
	// AsOf is the list's own timestamp, Unix milliseconds. It serves as the list's version.
	AsOf int64 `json:"as_of"`
	// Tags are the tags that the list gives the token.
	Tags []string `json:"tags"`
	// SHA256 is the hash of the list's file, in hexadecimal. It is nil for a list that was read
	// before hashes were kept.
	SHA256 *string `json:"sha256"`
	// Signature (base64) is the Ed25519 signature of the key Signer (base58) over the bytes of the
	// file. It was verified when the list was read. Both are nil for an unsigned list.
	Signer    *string `json:"signer"`
	Signature *string `json:"signature"`
}

// listed calls use with the entry of each list that holds the token, in the order of the lists'
// names.
func (s *State) listed(use func(fact *Fact, entry *ListEntry)) {
	first, _ := s.find(RegisterTokenList, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterTokenList; i++ {
		var entry ListEntry
		if json.Unmarshal([]byte(s.facts[i].Value), &entry) == nil && !entry.Removed {
			use(&s.facts[i], &entry)
		}
	}
}

// Lists returns the token lists that hold the token, sorted by name; nil if there are none.
func (s *State) Lists() (lists []Listing) {
	s.listed(func(fact *Fact, entry *ListEntry) {
		listing := Listing{
			List: fact.Item, AsOf: int64(min(fact.Position.Order, math.MaxInt64/1000)) * 1000, Tags: append([]string{}, entry.Tags...),
			SHA256: orNil(entry.SHA256), Signer: orNil(entry.Signer), Signature: orNil(entry.Signature),
		}
		lists = append(lists, listing)
	})
	return lists
}

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
