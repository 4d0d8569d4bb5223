package accounts

import (
	"encoding/hex"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Kinds of accounts that a run reads; Config.Kinds names some of them.
const (
	// KindToken are the mints of the SPL Token program.
	KindToken = "spl-token"
	// KindToken2022 are the mints of Token-2022 with extensions.
	KindToken2022 = "token-2022"
	// KindToken2022Plain are the mints of Token-2022 without extensions: they have no account type
	// to filter by and need a request of their own.
	KindToken2022Plain = "token-2022-plain"
	// KindMetaplex are the Metaplex metadata accounts.
	KindMetaplex = "metaplex"
)

// AllKinds returns every kind in the order in which they are read: mints first, since they make the
// members of the registry.
func AllKinds() []string {
	return []string{KindToken, KindToken2022, KindToken2022Plain, KindMetaplex}
}

// kind says how to request one kind of accounts.
type kind struct {
	name    string
	program pubkey.Key
	// filters are the same for all shards. A node takes at most four filters; the shard adds at
	// most two.
	filters []solana.Filter
	// slice is the part of each account that is read; nil for the whole account.
	slice *solana.DataSlice
	// steps are the bytes by which shards are cut, in this order. Each step cuts a shard into 256.
	// The bytes of one field make one memcmp filter.
	steps []step
}

// step is one byte of a field.
type step struct {
	field  int // offset of the field in the account
	offset int // of the byte in the field
}

// Layouts of the accounts (spl-token-2022-interface state.rs, mpl-token-metadata
// state/metadata.rs).
const (
	mintLength         = 82
	mintAuthorityField = 4
	mintSupplyField    = 36
	mintInitialized    = 45
	accountTypeField   = 165
	accountTypeMint    = 1
	metaplexKey        = 0
	metaplexKeyV1      = 4
	metaplexMintField  = 33
	// metaplexLength is how much of a metadata account is read (MAX_METADATA_LEN of version 1.14).
	// Older accounts have 72 more bytes, which are padding.
	metaplexLength = 607
	// extendedLength is how much of a Token-2022 mint is read: only one extension has a variable
	// length, of up to 64 KiB.
	extendedLength = 256 << 10
)

// mintSteps cut mints by mint authority and supply. A revoked authority leaves its bytes after the
// cleared tag, so the first byte spreads mints well. But platforms mint millions of tokens under
// one authority, and these differ in their supply only.
func mintSteps() []step {
	return []step{{mintAuthorityField, 0}, {mintSupplyField, 0}, {mintAuthorityField, 1}, {mintSupplyField, 1}, {mintSupplyField, 2}}
}

// kindOf returns the kind with that name.
func kindOf(name string) (kind, error) {
	switch name {
	case KindToken:
		return kind{
			name: name, program: tokenaccount.ProgramToken, steps: mintSteps(),
			filters: []solana.Filter{{DataSize: mintLength}, solana.Equals(mintInitialized, 1)},
		}, nil
	case KindToken2022:
		return kind{
			name: name, program: tokenaccount.ProgramToken2022, steps: mintSteps(),
			filters: []solana.Filter{solana.Equals(accountTypeField, accountTypeMint), solana.Equals(mintInitialized, 1)},
			slice:   &solana.DataSlice{Length: extendedLength},
		}, nil
	case KindToken2022Plain:
		return kind{
			name: name, program: tokenaccount.ProgramToken2022, steps: mintSteps(),
			filters: []solana.Filter{{DataSize: mintLength}, solana.Equals(mintInitialized, 1)},
		}, nil
	case KindMetaplex:
		return kind{
			name: name, program: tokenaccount.ProgramMetaplex,
			filters: []solana.Filter{solana.Equals(metaplexKey, metaplexKeyV1)},
			slice:   &solana.DataSlice{Length: metaplexLength},
			steps:   []step{{metaplexMintField, 0}, {metaplexMintField, 1}, {metaplexMintField, 2}, {metaplexMintField, 3}},
		}, nil
	default:
		return kind{}, fmt.Errorf("unknown kind of accounts %q: must be one of %v", name, AllKinds())
	}
}

// filtersOf returns the filters for the shard at path, which has one byte for each step by which
// the shard was cut.
func (k *kind) filtersOf(path []byte) []solana.Filter {
	filters := append([]solana.Filter{}, k.filters...)
	prefixes := map[int][]byte{}
	var fields []int
	for i, value := range path {
		field := k.steps[i].field
		if prefixes[field] == nil {
			fields = append(fields, field)
		}
		prefixes[field] = append(prefixes[field], value)
	}
	for _, field := range fields {
		filters = append(filters, solana.Equals(field, prefixes[field]...))
	}
	return filters
}

// shard is a set of accounts that one request asks for. Its JSON is part of the progress file.
type shard struct {
	Kind string `json:"kind"`
	// Path has the value of one byte for each step by which the shard was cut, in hexadecimal.
	Path string `json:"path,omitempty"`
	// Cursor is the place after the last page that is durable; only in the paged form.
	Cursor string `json:"cursor,omitempty"`

	busy, done bool
}

func (s *shard) path() ([]byte, error) {
	path, err := hex.DecodeString(s.Path)
	if err != nil {
		return nil, fmt.Errorf("shard %s: path: %w", s.Kind, err)
	}
	return path, nil
}

// String names the shard in logs and errors.
func (s *shard) String() string {
	if s.Path == "" {
		return s.Kind
	}
	return s.Kind + "/" + s.Path
}

// cut returns the 256 shards that make up s, one step deeper; nil if there is no further step.
func (s *shard) cut() []*shard {
	k, err := kindOf(s.Kind)
	if err != nil || len(s.Path)/2 >= len(k.steps) {
		return nil
	}
	children := make([]*shard, 0, 256)
	for b := range 256 {
		children = append(children, &shard{Kind: s.Kind, Path: fmt.Sprintf("%s%02x", s.Path, b)})
	}
	return children
}
