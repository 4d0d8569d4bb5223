package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/market"
)

// venuesResponse is the body of GET /venues.
type venuesResponse struct {
	// AsOf is the highest block time that the valuation saw, in Unix milliseconds; nil before the
	// first valuation.
	AsOf   *int64         `json:"as_of"`
	Venues []market.Venue `json:"venues"`
}

// getVenues is GET /venues: what was traded on each venue in 24 hours. It reads ClickHouse.
func (s *Server) getVenues(c *fiber.Ctx) error {
	if s.deps.Market == nil {
		return noMarket("volumes of venues are")
	}
	asOf, venues, err := s.deps.Market.Venues(context.WithoutCancel(c.UserContext()))
	if err != nil {
		return s.marketError(err, "volumes of venues are")
	}
	response := venuesResponse{Venues: venues}
	if !asOf.IsZero() {
		ms := asOf.UnixMilli()
		response.AsOf = &ms
	}
	return c.JSON(response)
}
