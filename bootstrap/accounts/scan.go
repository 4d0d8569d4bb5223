package accounts

import (
	"context"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// scan is what a server has of a mint. With pages, each was read at a slot of its own, while the
// chain went on.
type scan struct {
	accounts map[pubkey.Key]readBalance
	// first and last are the lowest and the highest slot of a page.
	first, last uint64
}

// readBalance is a token account as it was at the end of a slot.
type readBalance struct {
	Balance
	slot uint64
}

const (
	// maxScanned bounds the accounts of a mint, some 200 bytes each in memory. Mainnet's largest
	// mint has some ten million.
	maxScanned = 50_000_000
	// maxBarren bounds the pages in a row that have no new account. With filters, servers send
	// pages without any; one that does so for ever must not hold the read up.
	maxBarren = 1000
)

// read reads the accounts of a mint in pages, which large mints need, or in one answer if the
// servers do not offer pages.
func (h *Holders) read(ctx context.Context, program, mint pubkey.Key) (*scan, error) {
	req := request{
		kind:  kind{name: "token-accounts", program: program, filters: accountFilters(program, mint), slice: &solana.DataSlice{Length: accountLength + 1}},
		limit: h.cfg.PageLimit,
	}
	if h.unpaged {
		return h.pages(ctx, req, mint)
	}
	paged := req
	paged.paged = true
	found, err := h.pages(ctx, paged, mint)
	if err == nil || len(found.accounts) > 0 || !notOffered(err) {
		return found, err
	}
	h.logger.Info("the server offers no pages, token accounts are read in one answer", "err", err)
	h.unpaged = true
	return h.pages(ctx, req, mint)
}

// notOffered reports whether a server refuses pages as such: it does not know the method, forbids
// it, or tells no slot.
func notOffered(err error) bool {
	var write *writeError
	return !errors.As(err, &write) && !errors.Is(err, context.Canceled) && hopeless(err)
}

// pages makes requests until there is no page left. After an error it returns what it has.
func (h *Holders) pages(ctx context.Context, req request, mint pubkey.Key) (*scan, error) {
	found := &scan{accounts: map[pubkey.Key]readBalance{}}
	for turn, barren := 0, 0; ; {
		var next string
		var accounts map[pubkey.Key]readBalance
		err := h.repeat(ctx, &req, turn, func(at int) (err error) {
			turn = at // a cursor is best understood where it comes from
			next, accounts, err = h.fetch(ctx, at, &req, mint, found)
			return err
		})
		if err != nil {
			return found, err
		}
		if found.add(accounts) == 0 {
			barren++
		} else {
			barren = 0
		}
		switch {
		case next == "":
			return found, nil
		case next == req.cursor || barren > maxBarren:
			return found, fmt.Errorf("%w: the pages have no end", errMalformed)
		case len(found.accounts) > maxScanned:
			return found, fmt.Errorf("%w: more than %d accounts", errMalformed, maxScanned)
		}
		req.cursor = next
	}
}

// add takes the accounts of a page, and returns how many of them are new. An account that a server
// sends twice counts as it was later.
func (s *scan) add(accounts map[pubkey.Key]readBalance) (added int) {
	for key, held := range accounts {
		before, ok := s.accounts[key]
		if !ok {
			added++
		}
		if !ok || held.slot > before.slot {
			s.accounts[key] = held
		}
	}
	return added
}

// fetch makes one request. It returns the cursor of the next page, and the accounts that are open.
func (h *Holders) fetch(ctx context.Context, turn int, req *request, mint pubkey.Key, found *scan) (next string, accounts map[pubkey.Key]readBalance, err error) {
	accounts = map[pubkey.Key]readBalance{}
	answer, err := h.client.do(ctx, turn, req, func(slot uint64, a *account) error {
		if len(accounts) >= maxScanned {
			return fmt.Errorf("%w: more than %d accounts", errMalformed, maxScanned)
		}
		held, ok, err := balanceOf(req.kind.program, mint, a)
		if err == nil && ok {
			accounts[a.pubkey] = readBalance{held, slot}
		}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	if err := h.deps.Bounds.Read(solana.Host(h.client.endpoint(turn)), answer.slot); err != nil {
		return "", nil, err
	}
	if found.first == 0 || answer.slot < found.first {
		found.first = answer.slot
	}
	found.last = max(found.last, answer.slot)
	return answer.cursor, accounts, nil
}
