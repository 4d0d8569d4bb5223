package registry

import (
	"encoding/json"
	"math"
)

// Listing is a token list that holds a token, with all that it takes to check that.
type Listing struct {
	// List is the list's name on this node.
	List string `json:"list"`
	// AsOf is the list's own time, Unix milliseconds: its version.
	AsOf int64 `json:"as_of"`
	// Tags are those that the list gives the token.
	Tags []string `json:"tags"`
	// SHA256 is that of the list's file, in hexadecimal; nil for lists that were read before hashes
	// were kept.
	SHA256 *string `json:"sha256"`
	// Signer is the Ed25519 key, base58, whose signature over the bytes of the file, base64, was
	// verified when the list was read. Both are nil for a list without.
	Signer    *string `json:"signer"`
	Signature *string `json:"signature"`
}

// listed calls use with the entry of each list that holds the token, in the order of their names.
func (s *State) listed(use func(fact *Fact, entry *ListEntry)) {
	first, _ := s.find(RegisterTokenList, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterTokenList; i++ {
		var entry ListEntry
		if json.Unmarshal([]byte(s.facts[i].Value), &entry) == nil && !entry.Removed {
			use(&s.facts[i], &entry)
		}
	}
}

// Lists are the token lists that hold the token, by name; nil for none.
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
