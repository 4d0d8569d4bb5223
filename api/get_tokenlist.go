package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/replica/search"
)

// listMost bounds the tokens of the list. The curated lists have some thousand tokens.
const listMost = 10_000

// tokenList has the shape of TokenList in @solana/spl-token-registry
// (github.com/solana-labs/token-list, src/lib/tokenlist.ts).
type tokenList struct {
	Name      string                       `json:"name"`
	LogoURI   string                       `json:"logoURI"`
	Keywords  []string                     `json:"keywords"`
	Tags      map[string]map[string]string `json:"tags"`
	Timestamp string                       `json:"timestamp"`
	Version   map[string]int               `json:"version"`
	Tokens    []listedToken                `json:"tokens"`
}

// chainMainnet is the chain id of mainnet-beta in lists of this shape.
const chainMainnet = 101

type listedToken struct {
	ChainID    int               `json:"chainId"`
	Address    string            `json:"address"`
	Symbol     string            `json:"symbol"`
	Name       string            `json:"name"`
	Decimals   uint8             `json:"decimals"`
	LogoURI    *string           `json:"logoURI,omitempty"`
	Tags       []string          `json:"tags"`
	Extensions map[string]string `json:"extensions,omitempty"`
}

// getTokenList is GET /tokenlist.json: the verified tokens, by mint. The answer changes only when
// these tokens do.
func (s *Server) getTokenList(c *fiber.Ctx) error {
	result := s.replica.Search(search.Query{IncludeToken22: true, Filter: search.Filter{Tag: tagVerified}, Sort: search.SortMint, Limit: listMost})
	list := tokenList{
		Name: "Mintlake verified tokens", Keywords: []string{"solana", "spl", tagVerified}, Version: map[string]int{"major": 1, "minor": 0, "patch": 0},
		Tags: map[string]map[string]string{tagVerified: {"name": tagVerified, "description": "A curated list holds the token."}}, Tokens: []listedToken{},
	}
	newest := int64(0)
	for _, hit := range result.Hits {
		t := s.replica.Token(hit.ID)
		if t == nil {
			continue
		}
		if t.FirstSeenAt != nil {
			newest = max(newest, *t.FirstSeenAt)
		}
		list.Tokens = append(list.Tokens, listedToken{chainMainnet, t.Mint.String(), t.Symbol, t.Name, t.Decimals, t.LogoURL, t.Tags, t.Extensions})
	}
	c.Set(fiber.HeaderCacheControl, cacheRevalidate)
	list.Timestamp = time.UnixMilli(newest).UTC().Format(time.RFC3339)
	return c.JSON(list)
}
