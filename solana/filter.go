package solana

import "github.com/mr-tron/base58"

// Filter is a condition of getProgramAccounts: the length of an account's data, or a Memcmp.
type Filter struct {
	DataSize int     `json:"dataSize,omitempty"`
	Memcmp   *Memcmp `json:"memcmp,omitempty"`
}

// Memcmp says which bytes an account's data has at an offset. Bytes is base58, which every node
// reads without being told the encoding.
type Memcmp struct {
	Offset int    `json:"offset"`
	Bytes  string `json:"bytes"`
}

// Equals returns the filter for data that has value at an offset.
func Equals(offset int, value ...byte) Filter {
	return Filter{Memcmp: &Memcmp{Offset: offset, Bytes: base58.Encode(value)}}
}
