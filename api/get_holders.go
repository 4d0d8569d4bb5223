package api

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Bounds of GET /tokens/{mint}/holders and of its history.
const (
	maxHolders    = 1_000
	defaultPoints = 168
	maxPoints     = 1_000
)

// holdersResponse is the body of GET /tokens/{mint}/holders.
type holdersResponse struct {
	Mint     pubkey.Key `json:"mint"`
	Decimals uint8      `json:"decimals"`
	// Supply is the raw supply, now or at the slot that is asked for; nil if unknown.
	Supply *string  `json:"supply"`
	Items  []holder `json:"items"`
	Limit  int      `json:"limit"`
	// Total is the number of holders. It is nil if all accounts of a mint with many accounts would
	// have to be read for it.
	Total *uint64 `json:"total"`
	Next  *string `json:"next"`
	balances.State
}

// holder is a row of GET /tokens/{mint}/holders.
type holder struct {
	Rank     uint64      `json:"rank"`
	Owner    *pubkey.Key `json:"owner"` // nil if the source did not tell the owner
	Kind     string      `json:"owner_kind"`
	Amount   string      `json:"amount"`
	Accounts uint64      `json:"accounts"`
	// SharePct is the share of the supply in percent; nil if the supply is unknown or 0.
	SharePct *float64 `json:"share_pct"`
}

// getHolders is GET /tokens/{mint}/holders: the holders of a mint, those with the most first, now
// or at the end of a slot. It reads ClickHouse.
func (s *Server) getHolders(c *fiber.Ctx) error {
	ranking, err := queryRanking(c)
	if err != nil {
		return err
	}
	if ranking.Mint, err = s.balancesMint(c); err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	page, err := s.deps.Balances.Holders(ctx, ranking)
	if err != nil {
		return s.balancesError(err)
	}
	token := s.replica.Lookup(ranking.Mint)
	if token == nil {
		return unknownMint(ranking.Mint.String())
	}
	response := holdersResponse{
		Mint: ranking.Mint, Decimals: token.Decimals, Supply: token.Supply, Items: make([]holder, 0, len(page.Holders)), Limit: ranking.Limit,
		Total: page.Total, State: page.State,
	}
	if ranking.Slot != nil {
		response.Supply = s.supplyAt(ctx, ranking.Mint, *ranking.Slot)
	}
	for i := range page.Holders {
		h := &page.Holders[i]
		response.Items = append(response.Items, holder{h.Rank, optionalKey(h.Owner), h.Kind, h.Amount, h.Accounts, share(h.Amount, response.Supply)})
	}
	if page.More {
		next := balances.CursorOf(&page.Holders[len(page.Holders)-1]).String()
		response.Next = &next
	}
	return c.JSON(response)
}

func queryRanking(c *fiber.Ctx) (ranking balances.Ranking, err error) {
	limit, err := queryInteger(c, "limit", defaultLimit, maxHolders)
	if err != nil {
		return ranking, err
	}
	ranking.Limit = int(limit)
	if ranking.After, err = queryCursor(c, balances.ParseRankCursor); err != nil {
		return ranking, err
	}
	kinds := schemas.OwnerKinds()
	for _, kind := range queryList(c, "exclude") {
		if !slices.Contains(kinds, kind) {
			return ranking, invalid("exclude", quoted(kind), "must be of "+strings.Join(kinds, ", ")+", several with commas between")
		}
		ranking.Exclude = append(ranking.Exclude, kind)
	}
	slices.Sort(ranking.Exclude)
	ranking.Exclude = slices.Compact(ranking.Exclude)
	ranking.Slot, err = queryAtSlot(c)
	return ranking, err
}

// supplyAt returns the raw supply at the end of a slot; nil if it is unknown.
func (s *Server) supplyAt(ctx context.Context, mint pubkey.Key, slot uint64) *string {
	if s.history == nil {
		return nil
	}
	snapshot, err := s.history.AsOf(ctx, mint, slot)
	if err != nil {
		return nil // the answer then has no supply and no shares
	}
	token, _ := snapshot.Token()
	return token.Supply
}

// share returns how many percent of the supply an amount is; nil if the supply is unknown or 0.
func share(amount string, supply *string) *float64 {
	if supply == nil {
		return nil
	}
	part, err := strconv.ParseFloat(amount, 64)
	whole, errWhole := strconv.ParseFloat(*supply, 64)
	if err != nil || errWhole != nil || whole <= 0 {
		return nil
	}
	percent := part / whole * 100
	return &percent
}

// holdersHistoryResponse is the body of GET /tokens/{mint}/holders/history.
type holdersHistoryResponse struct {
	Mint   pubkey.Key       `json:"mint"`
	Points []balances.Point `json:"points"`
}

// getHoldersHistory is GET /tokens/{mint}/holders/history: the number of holders by hour of block
// time. It reads ClickHouse.
func (s *Server) getHoldersHistory(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultPoints, maxPoints)
	if err != nil {
		return err
	}
	from, err := queryInteger(c, "from", 0, math.MaxUint32)
	if err != nil {
		return err
	}
	to, err := queryInteger(c, "to", math.MaxUint32, math.MaxUint32)
	if err != nil {
		return err
	}
	mint, err := s.balancesMint(c)
	if err != nil {
		return err
	}
	points, err := s.deps.Balances.Points(context.WithoutCancel(c.UserContext()), mint, time.Unix(from, 0), time.Unix(to, 0), int(limit))
	if err != nil {
		return s.balancesError(err)
	}
	return c.JSON(holdersHistoryResponse{mint, points})
}
