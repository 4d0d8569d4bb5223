package swap

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// tokenAccountSize is the length of an account for an SPL token without extensions.
const tokenAccountSize = 165

const (
	// rentEvery is how often readRents reads the rent. Building a transaction reads it too. The
	// rent only changes between epochs, and an epoch lasts a day or more.
	rentEvery = time.Hour
	// rentRetry is how long to wait after a read that failed.
	rentRetry = 10 * time.Second
)

// readRents reads the rent until ctx ends.
func (s *Server) readRents(ctx context.Context) {
	for {
		wait := rentEvery
		_, accounts, err := s.deps.RPC.GetMultipleAccounts(ctx, []pubkey.Key{venue.RentSysvar}, solana.AccountOptions{
			Commitment: market.Commitment, DataSlice: &solana.DataSlice{Length: venue.RentSize},
		})
		if err != nil {
			wait = rentRetry
		} else {
			s.learnRent(accounts[0])
		}
		if pause.For(ctx, wait) != nil {
			return
		}
	}
}

// learnRent takes the rent from account, which is RentSysvar, and returns the rent that holds now.
// If the account is missing or refused, the rent stays as it was.
func (s *Server) learnRent(account *solana.Account) venue.Rent {
	if account == nil {
		return s.rent()
	}
	rent, err := venue.ParseRent(account.Data)
	if err != nil {
		s.metrics.rentsRefused.Inc()
		s.deps.Logger.Debug("rent refused", "err", err)
		return s.rent()
	}
	s.lastRent.Store(&rent)
	return rent
}

// rent returns the rent that was read last; the default before the first read.
func (s *Server) rent() venue.Rent {
	if last := s.lastRent.Load(); last != nil {
		return *last
	}
	return venue.DefaultRent
}
