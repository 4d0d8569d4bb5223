package accounts

import (
	"context"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// scan has the open token accounts of a mint. With pages, each page has a slot of its own, because
// the chain goes on between two pages.
type scan struct {
	accounts map[pubkey.Key]readBalance
	// first and last are the lowest and the highest slot of the pages.
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
	// maxWithoutNew bounds the pages in a row that have no new account. With filters, servers also
	// send pages without any account. A server that sends only such pages must not hold up the read
	// for ever.
	maxWithoutNew = 1000
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

// notOffered reports whether err means that the servers offer no pages at all: they do not know the
// method, forbid it, or tell no slot.
func notOffered(err error) bool {
	var write *writeError
	return !errors.As(err, &write) && !errors.Is(err, context.Canceled) && hopeless(err)
}

// pages makes requests until there is no page left. After an error it returns what it has.
func (h *Holders) pages(ctx context.Context, req request, mint pubkey.Key) (*scan, error) {
	found := &scan{accounts: map[pubkey.Key]readBalance{}}
	for turn, withoutNew := 0, 0; ; {
		var next string
		var accounts map[pubkey.Key]readBalance
		err := h.repeat(ctx, &req, turn, func(at int) (err error) {
			turn = at // the server that made a cursor understands it best
			next, accounts, err = h.fetch(ctx, at, &req, mint, found)
			return err
		})
		if err != nil {
			return found, err
		}
		if found.add(accounts) == 0 {
			withoutNew++
		} else {
			withoutNew = 0
		}
		switch {
		case next == "":
			return found, nil
		case next == req.cursor || withoutNew > maxWithoutNew:
			return found, fmt.Errorf("%w: the pages have no end", errMalformed)
		case len(found.accounts) > maxScanned:
			return found, fmt.Errorf("%w: more than %d accounts", errMalformed, maxScanned)
		}
		req.cursor = next
	}
}

// add takes the accounts of a page, and returns how many of them are new. Of an account that a
// server sends twice, the state of the higher slot counts.
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

// fetch makes one request, and notes the slot of the answer in found. It returns the cursor of the
// next page, and the accounts of this page that are open.
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
