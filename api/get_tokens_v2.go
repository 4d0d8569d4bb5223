package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
)

// Bounds of /tokens/v2: those of Jupiter's Tokens API V2, except v2Tagged, which is ours.
const (
	v2Search = 20
	v2Mints  = 100
	v2Query  = 4_600 // characters: enough for v2Mints mints with commas between
	v2Recent = 30
	v2Tagged = 1_000
	// the number of tokens of a category: the default, and the most
	v2Listed, v2ListedMost = 50, 100
	// the organic scores from which on a token's label is high, and medium
	v2OrganicHigh, v2OrganicMedium = 70, 30
)

// tagVerified is the tag of tokens that a curated list holds.
const tagVerified = "verified"

// tokenV2 is a token in the shape of Jupiter's Tokens API V2
// (https://dev.jup.ag/guides/how-to-get-token-information). What is not known here is left out or
// null: supply in circulation, the address of the first pool, and what organic buyers did.
type tokenV2 struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Symbol       string   `json:"symbol"`
	Icon         *string  `json:"icon"`
	Decimals     uint8    `json:"decimals"`
	Twitter      *string  `json:"twitter,omitempty"`
	Telegram     *string  `json:"telegram,omitempty"`
	Website      *string  `json:"website,omitempty"`
	Dev          *string  `json:"dev,omitempty"`
	Launchpad    *string  `json:"launchpad,omitempty"`
	GraduatedAt  *string  `json:"graduatedAt,omitempty"`
	TotalSupply  *float64 `json:"totalSupply"`
	TokenProgram string   `json:"tokenProgram"`
	USDPrice     *float64 `json:"usdPrice"`
	MarketCap    *float64 `json:"mcap,omitempty"`
	Liquidity    *float64 `json:"liquidity,omitempty"`
	FDV          *float64 `json:"fdv,omitempty"`
	Stats5m      *statsV2 `json:"stats5m,omitempty"`
	Stats1h      *statsV2 `json:"stats1h,omitempty"`
	Stats6h      *statsV2 `json:"stats6h,omitempty"`
	Stats24h     *statsV2 `json:"stats24h,omitempty"`
	// HolderCount is left out where holders were not counted.
	HolderCount *uint64 `json:"holderCount,omitempty"`
	Audit       auditV2 `json:"audit"`
	// OrganicScore is the part of the volume of 24 hours that resists wash trading, 0 to 100.
	OrganicScore      float64  `json:"organicScore"`
	OrganicScoreLabel string   `json:"organicScoreLabel"`
	IsVerified        bool     `json:"isVerified"`
	Tags              []string `json:"tags"`
	UpdatedAt         string   `json:"updatedAt"`
}

type auditV2 struct {
	MintAuthorityDisabled   bool `json:"mintAuthorityDisabled"`
	FreezeAuthorityDisabled bool `json:"freezeAuthorityDisabled"`
	// TopHoldersPercentage is the percentage of the supply that the ten owners with the most have.
	// Pools, curves and burnt tokens are left out.
	TopHoldersPercentage *float64 `json:"topHoldersPercentage,omitempty"`
}

// statsV2 has the statistics of one window.
type statsV2 struct {
	PriceChange *float64 `json:"priceChange,omitempty"` // percent
	BuyVolume   *float64 `json:"buyVolume,omitempty"`   // US dollars
	SellVolume  *float64 `json:"sellVolume,omitempty"`
	Buys        uint64   `json:"numBuys"`
	Sells       uint64   `json:"numSells"`
	Traders     uint64   `json:"numTraders"`
}

func toStatsV2(m *replica.Market, window int) *statsV2 {
	w := &m.Windows[window]
	return &statsV2{m.Change(window), boughtOf(m, window), m.Sold(window), w.Buys, w.Trades - w.Buys, w.Traders}
}

// timeV2 formats Unix milliseconds as Jupiter's API does.
func timeV2(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// toV2 returns a token in the shape of Jupiter's API. m is nil if nothing is known of its
// trades.
func toV2(t *registry.Token, m *replica.Market) tokenV2 {
	v := tokenV2{
		ID: t.Mint.String(), Name: t.Name, Symbol: t.Symbol, Icon: t.LogoURL, Decimals: t.Decimals, Website: t.ExternalURL,
		TotalSupply: t.WholeSupply(), TokenProgram: schemas.ProgramToken,
		Audit:      auditV2{MintAuthorityDisabled: t.MintAuthority == nil, FreezeAuthorityDisabled: t.FreezeAuthority == nil},
		IsVerified: slices.Contains(t.Tags, tagVerified), Tags: append([]string{}, t.Tags...), OrganicScoreLabel: "low",
		Dev: t.Creator, Launchpad: t.Launchpad,
	}
	if t.GraduatedAt != nil {
		graduated := timeV2(*t.GraduatedAt)
		v.GraduatedAt = &graduated
	}
	if t.IsToken22 {
		v.TokenProgram = schemas.ProgramToken2022
	}
	for name, to := range map[string]**string{"twitter": &v.Twitter, "telegram": &v.Telegram} {
		if link, ok := t.Extensions[name]; ok {
			*to = &link
		}
	}
	updated := int64(0)
	if t.LastSeenAt != nil {
		updated = *t.LastSeenAt
	}
	v.UpdatedAt = timeV2(updated)
	if m == nil {
		return v
	}
	v.USDPrice, v.FDV, v.Liquidity = m.PriceUSD, m.FullyDiluted(t.WholeSupply()), m.LiquidityUSD
	v.MarketCap, _ = m.Cap(t.WholeSupply())
	v.Stats5m, v.Stats1h = toStatsV2(m, replica.FiveMinutes), toStatsV2(m, replica.OneHour)
	v.Stats6h, v.Stats24h = toStatsV2(m, replica.SixHours), toStatsV2(m, replica.OneDay)
	if m.OrganicUSD != nil && t.DailyVolumeUSD != nil && *t.DailyVolumeUSD > 0 {
		v.OrganicScore = min(100, max(0, 100**m.OrganicUSD / *t.DailyVolumeUSD))
	}
	switch {
	case v.OrganicScore >= v2OrganicHigh:
		v.OrganicScoreLabel = "high"
	case v.OrganicScore >= v2OrganicMedium:
		v.OrganicScoreLabel = "medium"
	}
	return v
}

// getV2Search is GET /tokens/v2/search. It finds tokens by a symbol, a name or a mint, or by
// several mints with commas between.
func (s *Server) getV2Search(c *fiber.Ctx) error {
	text, given, err := queryOnce(c, "query")
	if err != nil {
		return err
	}
	if !given || text == "" || utf8.RuneCountInString(text) > v2Query {
		return invalid("query", quoted(text), "must be a symbol, a name, or up to "+fmt.Sprint(v2Mints)+" mints with commas between")
	}
	if !strings.Contains(text, ",") {
		return s.sendV2(c, search.Query{Text: text, IncludeToken22: true, Limit: v2Search})
	}
	mints := strings.Split(text, ",")
	if len(mints) > v2Mints {
		return invalid("query", fmt.Sprintf("%d mints", len(mints)), fmt.Sprintf("must be at most %d", v2Mints))
	}
	list := []tokenV2{}
	for _, mint := range mints {
		if id, ok := s.idOf(strings.TrimSpace(mint)); ok {
			list = s.appendV2(list, id)
		}
	}
	c.Set(fiber.HeaderCacheControl, cacheRevalidate)
	return c.JSON(list)
}

// getV2Tag is GET /tokens/v2/tag: tokens with a tag, those with most volume first.
func (s *Server) getV2Tag(c *fiber.Ctx) error {
	tag, given, err := queryOnce(c, "query")
	if err != nil {
		return err
	}
	if !given || tag == "" || len(tag) > maxTag {
		return invalid("query", quoted(tag), fmt.Sprintf("must be a tag of 1 to %d bytes, such as %s", maxTag, tagVerified))
	}
	return s.sendV2(c, search.Query{IncludeToken22: true, Filter: search.Filter{Tag: tag}, Sort: search.SortVolume, Limit: v2Tagged})
}

// getV2Recent is GET /tokens/v2/recent: the newest tokens.
func (s *Server) getV2Recent(c *fiber.Ctx) error {
	return s.sendV2(c, search.Query{IncludeToken22: true, Sort: search.SortNewest, Limit: v2Recent})
}

// getV2Category is GET /tokens/v2/{category}/{interval}: the tokens with the highest volume, trend
// or organic volume. Tokens for which this figure is 0 or unknown are left out. Only toptraded has
// a figure for each interval. The figures of the other two categories are always those of 24 hours.
func (s *Server) getV2Category(c *fiber.Ctx) error {
	category, interval := c.Params("category"), c.Params("interval")
	if !slices.Contains([]string{"5m", "1h", "6h", "24h"}, interval) {
		return invalid("interval", quoted(interval), "must be 5m, 1h, 6h or 24h")
	}
	name, known := map[string]string{"toptraded": "volume_" + interval + "_usd", "toptrending": "trending", "toporganicscore": "organic_volume_usd"}[category]
	if !known {
		return invalid("category", quoted(category), "must be toptraded, toptrending or toporganicscore")
	}
	limit, err := queryInteger(c, "limit", v2Listed, v2ListedMost)
	if err != nil {
		return err
	}
	figure := s.replica.Figure(marketSorts()[name])
	list := []tokenV2{}
	for _, hit := range s.replica.Search(search.Query{IncludeToken22: true, Sort: search.SortFigure, Figure: figure, Limit: int(limit)}).Hits {
		if value, known := figure(hit.ID); known && value > 0 {
			list = s.appendV2(list, hit.ID)
		}
	}
	c.Set(fiber.HeaderCacheControl, cacheRevalidate)
	return c.JSON(list)
}

func (s *Server) sendV2(c *fiber.Ctx, query search.Query) error {
	list := []tokenV2{}
	for _, hit := range s.replica.Search(query).Hits {
		list = s.appendV2(list, hit.ID)
	}
	c.Set(fiber.HeaderCacheControl, cacheRevalidate)
	return c.JSON(list)
}

func (s *Server) appendV2(list []tokenV2, id uint32) []tokenV2 {
	if token := s.replica.Token(id); token != nil {
		v := toV2(token, s.replica.Market(id))
		if holders, counted := s.replica.Holders(id); counted {
			v.HolderCount, v.Audit.TopHoldersPercentage = &holders.Count, holders.Top10Pct
		}
		list = append(list, v)
	}
	return list
}
