package lookup

import (
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Public returns tables that venues publish for everybody's transactions, as base58:
//
//   - Raydium's own programs and authorities (LOOKUP_TABLE_CACHE of @raydium-io/raydium-sdk-v2),
//   - what trades on pump's programs share (constants.rs of pump-rust-client 0.5.0: MAINNET_ALT).
func Public() []string {
	return []string{"AcL1Vo8oy1ULiavEcjSUcwfBSForXMudcZvDZy5nzJkU", "Hyif6eWb8x88RVrvjPfabsgRYnwkVnyByEXTVTXbUcyP"}
}

// none is the setting for no tables.
const none = "none"

// ParseTables parses addresses of tables. The one text none stands for an empty list.
func ParseTables(texts []string) ([]venue.Key, error) {
	if len(texts) == 1 && texts[0] == none {
		return nil, nil
	}
	if len(texts) > MaxTables {
		return nil, fmt.Errorf("%d tables are too many: at most %d", len(texts), MaxTables)
	}
	seen := map[venue.Key]bool{}
	var list []venue.Key
	for _, text := range texts {
		key, err := pubkey.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%q: must be the address of a lookup table, or none alone", text)
		}
		if seen[key] {
			return nil, fmt.Errorf("%q: is there twice", text)
		}
		seen[key] = true
		list = append(list, key)
	}
	return list, nil
}
