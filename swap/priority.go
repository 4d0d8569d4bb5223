package swap

import (
	"context"
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// feeWish is a priority fee that follows from what others paid lately, or a tip in its place.
type feeWish struct {
	// percentile selects a price among those that others paid lately for a compute unit. 0: the
	// server's price counts. most bounds the whole fee in lamports, and is set if percentile is.
	// global says that all transactions count, not only those that write the same accounts.
	percentile int
	most       uint64
	global     bool
	// tip is paid to Jito's block engine, in lamports. tipPayer pays it, or the user if that is
	// nil.
	tip      uint64
	tipPayer *venue.Key
}

// levels are the priority levels of Jupiter's API, and the percentiles that they stand for
// (dev.jup.ag, priorityLevelWithMaxLamports).
var levels = map[string]int{"medium": 25, "high": 50, "veryHigh": 75}

// feeAuto asks for the server's price.
const feeAuto = "auto"

// Members of Jupiter's objects for a priority fee.
const (
	memberLevel   = "priorityLevelWithMaxLamports"
	memberTip     = "jitoTipLamports"
	memberTipFrom = "jitoTipLamportsWithPayer"
)

// priority reads the priority fee: lamports, auto, or one of Jupiter's objects.
func (p *parser) priority(r *request) {
	name, text := p.fields.get(fieldPriorityFee)
	_, price := p.fields.get(fieldUnitPrice)
	switch {
	case p.err != nil:
	case text != "" && price != "":
		p.fail(name, text, "must be absent with "+fieldUnitPrice)
	case price != "":
		n := p.number(fieldUnitPrice, 0, 0, maxUnitPrice)
		r.unitPrice = &n
	case text == "" || text == feeAuto:
	case text[0] == '{':
		p.err = r.wish.parse(name, []byte(text))
	default:
		n := p.number(fieldPriorityFee, 0, 0, maxPriorityFee)
		r.priorityFee = &n
	}
	if r.wish.tip > 0 { // as in Jupiter's API, a transaction with a tip has no priority fee
		none := uint64(0)
		r.priorityFee = &none
	}
}

// parse reads an object for a priority fee. At most one of its members may ask for something.
func (w *feeWish) parse(name string, object []byte) error {
	asked := ""
	if !json.Valid(object) {
		return invalid(name, string(object), "must be a number of lamports, auto, or a JSON object")
	}
	return eachMember(object, func(member string, value json.RawMessage) (err error) {
		path := name + "." + member
		switch {
		case string(value) == "null" || member == memberTip && string(value) == "0":
			return nil
		case asked != "":
			return badRequest("%s.%s and %s.%s are given: one of them is enough", name, asked, name, member)
		}
		switch asked = member; member {
		case memberTip:
			w.tip, err = lamportsOf(path, value)
		case memberTipFrom, memberLevel:
			if value[0] != '{' {
				return invalid(path, string(value), "must be a JSON object")
			}
			if member == memberLevel {
				return w.level(path, value)
			}
			return w.tipFrom(path, value)
		default:
			err = invalid(quoted(path), string(value), "must be absent: "+name+" takes a number of lamports, auto, "+memberLevel+", "+memberTip+" or "+memberTipFrom)
		}
		return err
	})
}

// tipFrom reads jitoTipLamportsWithPayer.
func (w *feeWish) tipFrom(path string, object []byte) error {
	err := eachMember(object, func(member string, value json.RawMessage) (err error) {
		switch at := path + "." + member; member {
		case "lamports":
			w.tip, err = lamportsOf(at, value)
		case "payer":
			p := parser{}
			w.tipPayer = p.wallet(at, textIn(value))
			err = p.err
		default:
			err = badRequest("there is no parameter %s", quoted(at))
		}
		return err
	})
	if err == nil && (w.tip == 0 || w.tipPayer == nil) {
		err = badRequest("%s must have lamports and payer", path)
	}
	return err
}

// level reads priorityLevelWithMaxLamports.
func (w *feeWish) level(path string, object []byte) error {
	err := eachMember(object, func(member string, value json.RawMessage) (err error) {
		at, text := path+"."+member, textIn(value)
		switch member {
		case "priorityLevel":
			if w.percentile = levels[text]; w.percentile == 0 {
				err = invalid(at, text, "must be medium, high or veryHigh")
			}
		case "maxLamports":
			w.most, err = lamportsOf(at, value)
		case "global":
			if w.global = text == "true"; text != "true" && text != "false" {
				err = invalid(at, text, ruleBoolean)
			}
		default:
			err = badRequest("there is no parameter %s", quoted(at))
		}
		return err
	})
	if err == nil && (w.percentile == 0 || w.most == 0) {
		err = badRequest("%s must have priorityLevel and maxLamports", path)
	}
	return err
}

// lamportsOf reads an amount of lamports that is spent for priority.
func lamportsOf(path string, value json.RawMessage) (uint64, error) {
	text := textIn(value)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > maxPriorityFee {
		return 0, invalid(path, text, "must be a whole number of lamports from 1 to "+strconv.Itoa(maxPriorityFee))
	}
	return n, nil
}

// textIn returns the text of a JSON string, or any other value as it is in JSON.
func textIn(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// tipAccounts are the accounts of Jito's tip payment program (jito-foundation, tip_payment; listed
// by getTipAccounts of its block engines).
var tipAccounts = []venue.Key{
	pubkey.MustParse("96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5"), pubkey.MustParse("HFqU5x63VTqvQss8hp11i4wVV8bD44PvwucfZ2bU7gRe"),
	pubkey.MustParse("Cw8CFyM9FkoMi7K7Crf6HNQqf4uEMzpKw6QNghXLvLkY"), pubkey.MustParse("ADaUMid9yfUytqMBgopwjb2DTLSokTSzL1zt6iGPaS49"),
	pubkey.MustParse("DfXygSm4jCyNCybVYYK6DwvWqjKee8pbDmJGcLWNDXjh"), pubkey.MustParse("ADuUkR4vqLUMWXxW9gh6D6L8pMSawimctcNZ5pGwDcEt"),
	pubkey.MustParse("DttWaMuVvTiduZRnguLF7jNxTgiMBZ1hyAumKUiL2KRL"), pubkey.MustParse("3AVi9Tg9Uo68tJfuvoKvqKNWKkC5wPdSSdeBnizKZ6jT"),
}

// tip returns the tip of a request; nil if it asks for none. Users are spread over the accounts, so
// that their transactions do not all write the same account.
func (r *request) tip(user venue.Key) *txn.Tip {
	if r.wish.tip == 0 {
		return nil
	}
	from := user
	if r.wish.tipPayer != nil {
		from = *r.wish.tipPayer
	}
	return &txn.Tip{From: from, To: tipAccounts[int(user[0])%len(tipAccounts)], Lamports: r.wish.tip}
}

// unitPriceOf returns the price of a compute unit that a request wishes for a transaction: the
// percentile of what others paid in the last slots, at least the server's price, and not more than
// the bound of the request. If the JSON-RPC server does not tell what others paid, it is the
// server's price, with the same bound. Prices are in millionths of a lamport.
func (s *Server) unitPriceOf(ctx context.Context, w *feeWish, built *txn.Transaction) uint64 {
	const mostAccounts = 128 // of getRecentPrioritizationFees
	accounts := []string{}
	for i := range built.Steps {
		for _, m := range built.Steps[i].Accounts {
			if text := m.Key.String(); m.Writable && !w.global && len(accounts) < mostAccounts && !slices.Contains(accounts, text) {
				accounts = append(accounts, text)
			}
		}
	}
	var recent []struct {
		PrioritizationFee uint64 `json:"prioritizationFee"`
	}
	price := s.cfg.unitPrice
	if err := s.deps.RPC.Call(ctx, "getRecentPrioritizationFees", []any{accounts}, &recent); err != nil {
		s.deps.Logger.Debug("no recent priority fees", "err", err)
	} else if len(recent) > 0 {
		fees := make([]uint64, len(recent))
		for i := range recent {
			fees[i] = recent[i].PrioritizationFee
		}
		slices.Sort(fees)
		price = max(price, fees[(len(fees)-1)*w.percentile/100])
	}
	// most is the price at which all units cost w.most. If it exceeds 64 bits, it bounds nothing.
	// limit is never 0.
	hi, lo := bits.Mul64(w.most, 1_000_000)
	if limit := uint64(built.ComputeUnits); hi < limit {
		most, _ := bits.Div64(hi, lo, limit)
		price = min(price, most)
	}
	return price
}
