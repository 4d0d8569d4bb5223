package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// candidates is the most tokens that are listed for a symbol that may mean several.
const candidates = 8

// candidate is a row of a search, with what tells tokens of one symbol apart.
type candidate struct {
	Mint         string   `json:"mint"`
	Symbol       string   `json:"symbol"`
	Name         string   `json:"name"`
	Tags         []string `json:"tags,omitempty"`
	Launchpad    *string  `json:"launchpad,omitempty"`
	DailyVolume  *float64 `json:"daily_volume_usd,omitempty"`
	MarketCap    *float64 `json:"market_cap_usd,omitempty"`
	Liquidity    *float64 `json:"liquidity_usd,omitempty"`
	Holders      *int64   `json:"holders,omitempty"`
	FirstSeenAt  *int64   `json:"first_seen_at,omitempty"`
	RankByVolume *int     `json:"rank_by_volume,omitempty"`
	RankByAge    *int     `json:"rank_by_age,omitempty"`
	Signals      []string `json:"signals,omitempty"`

	exact     bool
	skeleton  string
	canonical string
	sharing   int
}

// candidateFields are the fields of a row from which a candidate is made.
var candidateFields = []string{
	"mint", "symbol", "name", "tags", "launchpad", "daily_volume_usd", "market_cap_usd", "liquidity_usd", "holders", "first_seen_at", "evidence", "match",
}

// UnmarshalJSON reads a row of the API with candidateFields.
func (c *candidate) UnmarshalJSON(text []byte) error {
	type plain candidate
	row := struct {
		*plain
		Match    *rest.Match    `json:"match"`
		Evidence *rest.Evidence `json:"evidence"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(text, &row); err != nil {
		return err
	}
	c.Symbol, c.Name = terminal.Clean(c.Symbol), terminal.Clean(c.Name)
	c.exact = row.Match != nil && row.Match.Tier == rest.ExactSymbol
	if e := row.Evidence; e != nil {
		c.RankByVolume, c.RankByAge, c.sharing = e.RankByVolume, e.RankByAge, e.Sharing
		for _, signal := range e.Signals {
			c.Signals = append(c.Signals, string(signal))
		}
		if e.Skeleton != nil && e.Canonical != nil {
			c.skeleton, c.canonical = *e.Skeleton, *e.Canonical
		}
	}
	return nil
}

// severalTokens is the error of a symbol that may mean several tokens. Its JSON is for the model.
type severalTokens struct {
	Ambiguous  string      `json:"ambiguous"`
	Say        string      `json:"say"`
	Candidates []candidate `json:"candidates"`
	LeftOff    int         `json:"candidates_left_off,omitempty"`
}

func (s *severalTokens) Error() string {
	return fmt.Sprintf("several tokens have or imitate the symbol %q", s.Ambiguous)
}

// lookedUp is the note about a symbol that was taken for a mint.
type lookedUp struct {
	Symbol     string      `json:"symbol"`
	Mint       string      `json:"taken_for"`
	LookAlikes []lookAlike `json:"look_alikes"`
	LeftOff    int         `json:"look_alikes_left_off,omitempty"`
}

// lookAlike is a token with a symbol that looks like another one's.
type lookAlike struct {
	Mint   string `json:"mint"`
	Symbol string `json:"symbol"`
	Name   string `json:"name"`
}

// mintOf returns the mint that text means: an address, or the symbol of one token. If several
// tokens have the symbol, or its token imitates another one, the error is a *severalTokens. For a
// symbol, the told has a note that names the tokens that look like the one that was taken.
func (a *ask) mintOf(ctx context.Context, text string) (string, *told, error) {
	if address.MatchString(text) {
		return text, &told{}, nil
	}
	found, err := a.withSymbol(ctx, text)
	if err != nil {
		return "", nil, err
	}
	exact := 0
	for _, c := range found {
		if c.exact {
			exact++
		}
	}
	best := found[0]
	left := max(best.sharing-len(found), 0)
	if exact > 1 || best.canonical != "" && best.canonical != best.Mint {
		return "", nil, &severalTokens{
			text, "name the mint that you mean. rank_by_volume 1 trades most; the tag verified comes from lists; names, symbols and logos can be copied by anybody", found, left,
		}
	}
	note := lookedUp{Symbol: text, Mint: best.Mint, LookAlikes: make([]lookAlike, 0, len(found)-1), LeftOff: left}
	for _, c := range found[1:] {
		note.LookAlikes = append(note.LookAlikes, lookAlike{c.Mint, c.Symbol, c.Name})
	}
	return best.Mint, &told{notes: []any{note}}, nil
}

// withSymbol returns the tokens that have a symbol, and others that look like the first of these.
// The first has the symbol.
func (a *ask) withSymbol(ctx context.Context, text string) ([]candidate, error) {
	if text == "" || len(text) > 64 {
		return nil, fmt.Errorf("mint is %.40q: must be a mint address in base58, or a symbol", text)
	}
	limit, yes, fields := int32(candidates), true, candidateFields
	raw, err := body(a.REST.SearchTokensWithResponse(ctx, &rest.SearchTokensParams{Q: &text, Limit: &limit, Explain: &yes, Evidence: &yes, Fields: &fields}))
	if err != nil {
		return nil, err
	}
	page, err := decode[struct{ Items []candidate }](raw)
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 {
		return nil, fmt.Errorf("no token has the symbol or mint %q", text)
	}
	if !page.Items[0].exact {
		near := make([]string, len(page.Items))
		for i, c := range page.Items {
			near[i] = c.Symbol + " " + c.Mint
		}
		return nil, fmt.Errorf("no token has the symbol or mint %q; near are: %s", text, strings.Join(near, ", "))
	}
	found := page.Items[:1]
	for _, c := range page.Items[1:] {
		if c.exact || c.skeleton != "" && c.skeleton == found[0].skeleton {
			found = append(found, c)
		}
	}
	return found, nil
}
