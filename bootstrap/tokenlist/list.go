// Package tokenlist fills a registry from curated lists of tokens.
//
// In: files of the Solana token-list JSON schema, bare JSON lists of such tokens, or CSV, all
// hostile.
// Out: one enrichment a token, of the lowest rank: it fills what neither the chain nor the document
// behind the metadata's URI says, and makes no mint a member of the registry.
// Guarantees: a token that is malformed is refused alone, with its reason and place; every text is
// bounded; the same file gives the same records.
package tokenlist

import (
	"bytes"
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

// Options say what a file does not.
type Options struct {
	// Name of the list; default the file's own, or Fallback where it has none.
	Name     string
	Fallback string
	// AsOf is the list's time where the file has no timestamp: which version of a list is newer.
	AsOf time.Time
}

// List is what a file says.
type List struct {
	Name string
	// Version is the list's timestamp, Unix seconds.
	Version uint64
	Entries []Entry
	// OtherChains counts tokens of test networks, Duplicates further tokens with an address that
	// was there before; the first counts.
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

// Parse reads a file: CSV unless its first character is a brace or a bracket. The error says why
// nothing of it can be read.
func Parse(input io.Reader, options Options) (*List, error) {
	raw, err := io.ReadAll(io.LimitReader(input, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read token list: %w", err)
	}
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("token list: over %d bytes", MaxBytes)
	}
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(raw) == 0 {
		return nil, errors.New("token list: the file is empty")
	}
	list := &List{}
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

// add takes a token; place says where in the file it is, counted from 1.
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
		entry.LogoURI = "" // a part of a URL is no URL
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

// enrichment is the entry's record. Its slot is 0: a list knows none.
func (e *Entry) enrichment(list *List) *eventspb.Enrichment {
	fact := &eventspb.TokenListEntry{
		List: list.Name, Version: list.Version, Name: e.Name, Symbol: e.Symbol, LogoUri: e.LogoURI, Tags: e.Tags, Extensions: e.Extensions,
	}
	if e.Decimals != nil {
		decimals := uint32(*e.Decimals)
		fact.Decimals = &decimals
	}
	return &eventspb.Enrichment{Mint: e.Mint[:], Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: fact}}
}
