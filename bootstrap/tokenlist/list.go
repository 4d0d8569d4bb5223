// Package tokenlist fills a registry from curated lists of tokens.
//
// In: files of the Solana token-list JSON schema, bare JSON lists of such tokens, or CSV, all
// hostile. Out: one enrichment for each token, of the lowest rank: it fills fields that neither the
// chain nor the off-chain document has, and adds tags. It makes no mint a member of the registry.
// And one enrichment for each token that only an earlier version of the list held. Guarantees: a
// token that is malformed is refused alone, with its reason and place; every text is bounded; the
// same file gives the same records.
package tokenlist

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Limits of what is taken from a list. Longer texts are cut, more tags and extensions left out.
const (
	// MaxBytes bounds a file.
	MaxBytes = 256 << 20

	maxList       = 100
	maxName       = 256
	maxSymbol     = 64
	maxURI        = 2048
	maxTags       = 32
	maxTag        = 64
	maxExtensions = 64
	maxExtension  = 2048
)

// chainMainnet is the chainId of mainnet-beta in the token-list schema; 102 is testnet, 103 devnet.
const chainMainnet = 101

// Options has what the file itself does not state.
type Options struct {
	// Name is that of the list. Default: the name that the file states, or Fallback if it states
	// none.
	Name     string
	Fallback string
	// AsOf is the time of the list if the file has no timestamp. The time is the version of the
	// list, and the newest version counts.
	AsOf time.Time
	// Trust are public keys. The list must be signed by one of them; if there are none, it need not
	// be signed.
	Trust []ed25519.PublicKey
	// Signature is the file with the signature, 64 bytes in base64; nil: there is none.
	Signature []byte
}

// List is the content of a file.
type List struct {
	Name string
	// Version is the list's timestamp, Unix seconds.
	Version uint64
	Entries []Entry
	// SHA256 is that of the file.
	SHA256 [sha256.Size]byte
	// Signed is the signature by a trusted key; nil if Options.Trust was empty.
	Signed *Signature
	// Removed are mints that an earlier version of the list holds and this version does not, see
	// Replace.
	Removed []pubkey.Key
	// OtherChains counts tokens of test networks. Duplicates counts tokens whose address came
	// before in the file; the first one counts.
	OtherChains int
	Duplicates  int
	// Refused are the tokens that could not be read.
	Refused []error
}

// Entry is one token of a list.
type Entry struct {
	Mint       pubkey.Key
	Name       string
	Symbol     string
	Decimals   *uint8
	LogoURI    string
	Tags       []string
	Extensions map[string]string
}

// Parse reads a file: JSON if its first character is a brace or a bracket, else CSV. It fails only
// if the whole file cannot be used; single tokens are listed in Refused.
func Parse(input io.Reader, options Options) (*List, error) {
	raw, err := io.ReadAll(io.LimitReader(input, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read token list: %w", err)
	}
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("token list: over %d bytes", MaxBytes)
	}
	list := &List{SHA256: sha256.Sum256(raw)}
	if list.Signed, err = verify(raw, options.Signature, options.Trust); err != nil {
		return nil, fmt.Errorf("token list: %w", err)
	}
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(raw) == 0 {
		return nil, errors.New("token list: the file is empty")
	}
	c := &collector{list: list, seen: map[pubkey.Key]bool{}}
	if raw[0] == '{' || raw[0] == '[' {
		err = c.json(raw)
	} else {
		err = c.csv(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("token list: %w", err)
	}
	if options.Name != "" {
		list.Name = options.Name
	}
	if list.Name = clip(list.Name, maxList); list.Name == "" {
		list.Name = clip(options.Fallback, maxList)
	}
	if seconds := options.AsOf.Unix(); list.Version == 0 && seconds > 0 {
		list.Version = uint64(seconds)
	}
	return list, nil
}

// collector takes a list's tokens one by one.
type collector struct {
	list *List
	seen map[pubkey.Key]bool
}

// add adds a token to the list. place is its place in the file, from 1.
func (c *collector) add(place int, address string, entry Entry) {
	mint, err := pubkey.Parse(address)
	if err != nil {
		c.refuse(place, fmt.Errorf("address %q: %w", clip(address, 64), err))
		return
	}
	if c.seen[mint] {
		c.list.Duplicates++
		return
	}
	c.seen[mint] = true
	entry.Mint = mint
	entry.Name, entry.Symbol = clip(entry.Name, maxName), clip(entry.Symbol, maxSymbol)
	if entry.LogoURI = strings.ToValidUTF8(strings.TrimSpace(entry.LogoURI), "\uFFFD"); len(entry.LogoURI) > maxURI {
		entry.LogoURI = "" // half of a URL is useless
	}
	c.list.Entries = append(c.list.Entries, entry)
}

func (c *collector) refuse(place int, err error) {
	c.list.Refused = append(c.list.Refused, fmt.Errorf("token %d: %w", place, err))
}

// clip trims text, makes it valid UTF-8 and cuts it to at most limit bytes, between characters.
func clip(text string, limit int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), 4*limit)], "\uFFFD"))
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Replace sets Removed to the mints that an earlier version of the list holds and l does not. It is
// an error if the earlier list has another name, or no lower version.
func (l *List) Replace(earlier *List) error {
	if earlier.Name != l.Name {
		return fmt.Errorf("token list: %q cannot take the place of %q", l.Name, earlier.Name)
	}
	if earlier.Version >= l.Version {
		return fmt.Errorf("token list %q: version %d is not before version %d", l.Name, earlier.Version, l.Version)
	}
	held := map[pubkey.Key]bool{}
	for i := range l.Entries {
		held[l.Entries[i].Mint] = true
	}
	for i := range earlier.Entries {
		if mint := earlier.Entries[i].Mint; !held[mint] {
			l.Removed = append(l.Removed, mint)
		}
	}
	return nil
}

// fact returns the part that all records of the list share.
func (l *List) fact() *eventspb.TokenListEntry {
	fact := &eventspb.TokenListEntry{List: l.Name, Version: l.Version, ListSha256: l.SHA256[:]}
	if l.Signed != nil {
		fact.Signer, fact.Signature = l.Signed.Signer, l.Signed.Bytes
	}
	return fact
}

// enrichment returns the record of the entry.
func (e *Entry) enrichment(list *List) *eventspb.Enrichment {
	fact := list.fact()
	fact.Name, fact.Symbol, fact.LogoUri, fact.Tags, fact.Extensions = e.Name, e.Symbol, e.LogoURI, e.Tags, e.Extensions
	if e.Decimals != nil {
		decimals := uint32(*e.Decimals)
		fact.Decimals = &decimals
	}
	return record(e.Mint, fact)
}

// removal returns the record of a mint that the list does not hold any more.
func (l *List) removal(mint pubkey.Key) *eventspb.Enrichment {
	fact := l.fact()
	fact.Removed = true
	return record(mint, fact)
}

// record makes a record. Its slot is 0, as a list has none.
func record(mint pubkey.Key, fact *eventspb.TokenListEntry) *eventspb.Enrichment {
	return &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: fact}}
}
