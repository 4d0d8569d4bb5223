package swap

import (
	"context"
	"errors"
	"slices"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// ListedVenue is a venue of GET /api/v2/venues.
type ListedVenue struct {
	Venue string `json:"venue"`
	// Label is the venue's name as other routers write it.
	Label string `json:"label"`
	// Status is proved (quoted), partly (only some kinds of its swaps are quoted), stopped (not
	// quoted for now) or unverified (not quoted). Reason says why it is not proved.
	Status string  `json:"status"`
	Reason *string `json:"reason"`
	// ProvedBy is what the venue's arithmetic is compared with; null for a venue that is
	// unverified.
	ProvedBy *venue.Proof `json:"proved_by"`
	// Stopped is why it is stopped, or partly so; null if it is not.
	Stopped *Stop `json:"stopped"`
	// Program is the program's id, Build how it is deployed. Both are null for a venue that is
	// unverified.
	Program *string `json:"program"`
	Build   *Build  `json:"build"`
}

// The values of ListedVenue.Status.
const (
	statusProved     = "proved"
	statusPartly     = "partly"
	statusStopped    = "stopped"
	statusUnverified = "unverified"
)

// notCovered is the Reason of unverified venues.
const notCovered = "nothing proves its arithmetic here yet: its pools are not quoted"

// getVenues is GET /api/v2/venues.
func (s *Server) getVenues(_ context.Context, c *fiber.Ctx) error {
	if err := onlyQuery(c); err != nil {
		return err
	}
	venues := map[string]venue.Venue{}
	for _, v := range s.cfg.venues {
		venues[v.Name()] = v
	}
	list := []ListedVenue{}
	for _, known := range catalogue {
		entry := ListedVenue{Venue: known.Name, Label: known.Label, Status: statusUnverified}
		if v, covered := venues[known.Name]; covered {
			program, proof := v.Program().String(), v.Proof()
			entry.Status, entry.Program, entry.ProvedBy = statusProved, &program, &proof
			entry.Build = s.built(known.Name)
			stop, partly := s.stop(known.Name)
			if entry.Stopped = stop; stop != nil {
				entry.Status, entry.Reason = statusStopped, &stop.Message
			}
			if partly {
				entry.Status = statusPartly
			}
		} else {
			reason := notCovered
			entry.Reason = &reason
		}
		list = append(list, entry)
	}
	return c.JSON(fiber.Map{"venues": list})
}

// ListedPool is a pool of GET /api/v2/pools.
type ListedPool struct {
	Venue string    `json:"venue"`
	Pool  string    `json:"pool"`
	Mints [2]string `json:"mints"`
	Slot  uint64    `json:"slot"`
	// Refused says why the pool is not quoted; null when it is.
	Refused *PoolRefusal `json:"refused"`
}

// Parameters of GET /api/v2/pools.
const (
	fieldMint = "mint"
	fieldWith = "with"
)

// getPools is GET /api/v2/pools: the pools of a mint with another mint, or with the hubs. The
// member unlisted of the answer was for venues that were listed without being quoted. All are
// quoted now, so it is always empty.
func (s *Server) getPools(ctx context.Context, c *fiber.Ctx) error {
	if s.market == nil {
		return noUpstream()
	}
	key, others, err := s.poolsQuery(c)
	if err != nil {
		return err
	}
	snapshots, untradable := make([]*market.Snapshot, len(others)), make([]error, len(others))
	group, reading := errgroup.WithContext(ctx)
	for i, other := range others {
		group.Go(func() (err error) {
			snapshots[i], err = s.market.Snapshot(reading, key, other)
			if errors.Is(err, mint.ErrUntradable) {
				untradable[i], err = err, nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return away(err)
	}
	if len(others) > 0 && !slices.Contains(untradable, nil) {
		return untradable[0]
	}
	list := []ListedPool{}
	for i, snapshot := range snapshots {
		if snapshot == nil {
			continue
		}
		if err := s.fresh(snapshot.Slot, maxAge); err != nil {
			return err
		}
		mints := [2]string{key.String(), others[i].String()}
		for _, p := range snapshot.Pools {
			list = append(list, ListedPool{p.Venue, p.Address().String(), mints, p.Slot, nil})
		}
		for _, p := range snapshot.Refused {
			address := p.Address.String()
			list = append(list, ListedPool{p.Venue, address, mints, snapshot.Slot, &PoolRefusal{address, codeOf(p.Err), p.Err.Error()}})
		}
	}
	return c.JSON(fiber.Map{"pools": list, "unlisted": []string{}})
}

// poolsQuery reads the parameters: a mint, and the mints with which its pools are listed.
func (s *Server) poolsQuery(c *fiber.Ctx) (venue.Key, []venue.Key, error) {
	if err := onlyQuery(c, fieldMint, fieldWith); err != nil {
		return venue.Key{}, nil, err
	}
	key, err := parseKey(fieldMint, c.Query(fieldMint))
	if err != nil {
		return venue.Key{}, nil, err
	}
	if text := c.Query(fieldWith); text != "" {
		other, err := parseKey(fieldWith, text)
		if err == nil && other == key {
			err = invalid(fieldWith, text, "must differ from "+fieldMint)
		}
		return key, []venue.Key{other}, err
	}
	var others []venue.Key
	for _, hub := range s.hubs() {
		if hub != key {
			others = append(others, hub)
		}
	}
	return key, others, nil
}
