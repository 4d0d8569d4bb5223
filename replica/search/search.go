// Package search ranks tokens for a query.
//
// In: documents, each the symbol and the name of one token. Out: pages of tokens in a total order,
// with the exact number of matches. Guarantees: a search sees one consistent state and never waits
// for a writer; two identical searches of one state give identical pages; every token is in its
// best tier only.
//
// A search has four stages. The plan is what the query asks for. Then for each segment of the
// index: the candidates are the terms (distinct symbols and names) that match; their documents are
// counted; and ranked, as far as they may reach the page.
//
// The order is the contract (docs/api-reference.md repeats it for users). Tiers, best first: exact
// mint, exact symbol, symbol prefix, name prefix, fuzzy by substring, fuzzy by similarity. Text is
// compared as Normalise makes it; the mint is compared as it is. Within a tier: daily volume
// descending (unknown last), first_seen_at ascending (unknown last), mint ascending. Within the
// fuzzy tiers the score comes before that, descending.
package search

import (
	"regexp"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Tier is how well a token matches; lower is better.
type Tier uint8

// Tiers, best first.
const (
	// TierAll: the query is empty, every token matches alike.
	TierAll Tier = iota
	TierMint
	TierSymbol
	TierSymbolPrefix
	TierNamePrefix
	TierSubstring
	TierSimilar

	noMatch Tier = 255
)

// Field is what matched.
type Field uint8

// Fields of a token that a query is compared with.
const (
	FieldNone Field = iota
	FieldMint
	FieldSymbol
	FieldName
)

// MinSimilarity is the least trigram similarity of a fuzzy match; it is PostgreSQL's default of
// pg_trgm.similarity_threshold.
const MinSimilarity = 0.3

// Query asks for the tokens at [Offset, Offset+Limit) of the ranking.
type Query struct {
	// Text as the user wrote it; empty (after Normalise) matches every token.
	Text string
	// IncludeToken22 false leaves Token-2022 mints out, of the total too.
	IncludeToken22 bool
	// Filter leaves further tokens out, of the total too.
	Filter Filter
	Sort   Sort
	// Figure returns the number that SortFigure orders a token by, and whether it has one. It is
	// used only with SortFigure, and must return the same for a token throughout a search.
	Figure func(id uint32) (value float64, known bool)
	// Offset and Limit are not negative. Offset is ignored with SortMint.
	Offset, Limit int
	// Cursor is Result.Next of the previous page; empty begins a walk. It is ignored unless Sort is
	// SortMint.
	Cursor string
}

// byOrderKey returns whether documents are ordered by the keys that the segments keep, see
// orderKey.
func (q *Query) byOrderKey() bool { return q.Sort == SortRelevance || q.Sort == SortVolume }

// Program restricts tokens to those of one token program.
type Program uint8

// Programs.
const (
	ProgramAny Program = iota
	ProgramToken
	ProgramToken2022
)

// Filter has conditions that a token must all meet. The zero value lets every token through.
type Filter struct {
	Program Program
	// Extensions are kinds of Token-2022 extensions of which the mint must have all. NotExtensions
	// are kinds of which it must have none.
	Extensions, NotExtensions []string
	// Tag is a tag that the token must have, in the same spelling; empty: any or none.
	Tag string
	// Launchpad is the launchpad that the token must be from; empty: any or none.
	Launchpad string
	// MinVolume is the least daily volume in USD. An unknown volume is less than every MinVolume.
	// Nil asks for none.
	MinVolume *float64
	// CreatedAfter is in milliseconds. The token's first_seen_at must be known and later. Nil asks
	// for none.
	CreatedAfter *int64
	// Passes returns whether the token of a row id is wanted. As with Query.Figure, it must return
	// the same for a token throughout a search. Nil lets all through.
	Passes func(id uint32) bool
}

// Sort is the order of the hits.
type Sort uint8

// Orders. All are total: tokens that are equal otherwise are ordered by mint.
const (
	// SortRelevance is the ranking of the package comment.
	SortRelevance Sort = iota
	// SortVolume is daily volume descending (unknown last), then first_seen_at ascending (unknown
	// last), whatever the tier.
	SortVolume
	// SortNewest and SortOldest are by first_seen_at, descending and ascending; unknown last in
	// both.
	SortNewest
	SortOldest
	// SortMint is for walking through everything that matches, page by page, with Result.Next as
	// the next Cursor. It is the order of the mints, which never changes: a walk meets each token
	// that matches during all of the walk exactly once, whatever else changes.
	SortMint
	// SortFigure is by Query.Figure descending, unknown last.
	SortFigure
)

// cursorForm is the form of a cursor: a mint in base58, as Result.Next has it, or a text that may
// lie between two mints.
var cursorForm = regexp.MustCompile(`^[0-9A-Za-z]{1,44}$`)

// ValidCursor returns whether a walk can continue after cursor: a mint, or any text of that form. A
// cursor has no state, so it holds on every node and after a restart.
func ValidCursor(cursor string) bool { return cursorForm.MatchString(cursor) }

// Hit is a token found, and why.
type Hit struct {
	// ID is the mint's row id in the copy of the registry.
	ID    uint32
	Tier  Tier
	Field Field
	// Score orders the fuzzy tiers, from 0 to 1; 0 elsewhere.
	Score float64
}

// Result is a page.
type Result struct {
	// Hits may be shared with others who ask the same: do not change them.
	Hits []Hit
	// Total counts all matches, on a walk also those of earlier pages.
	Total int
	// Next is the Cursor of the next page. It is empty at the end, and always unless Sort is
	// SortMint.
	Next string
}

// Document is what the index must know of a mint. The index copies what it keeps: the pointers need
// to be valid during the call only.
type Document struct {
	// ID is the mint's row id. It is dense, from 0 on, never changes and is never given to another
	// mint while the process lives.
	ID   uint32
	Mint pubkey.Key
	// Token is nil to take the mint out of the index.
	Token *registry.Token
	// Extensions are the kinds of the mint's Token-2022 extensions, sorted.
	Extensions []string
}
