package swap

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/internal/tokenaccount"
	"github.com/mintlake/mintlake/swap/venue"
)

// Names of the parameters, from the specification.
const (
	fieldSource   = "src_mint"
	fieldTarget   = "dst_mint"
	fieldAmount   = "amount_in"
	fieldSlippage = "slippage_bps"
	fieldUser     = "user_account"
)

// maxSlippage is all of it.
const maxSlippage = 10_000

// request is a quote's parameters, valid.
type request struct {
	source, target venue.Key
	amount         uint64
	slippage       uint64
	// user is nil when no transaction is wanted.
	user *venue.Key
}

// Rules of the parameters, as errors tell them.
const (
	ruleKey      = "must be a base58 address of 32 bytes"
	ruleAmount   = "must be a whole number of raw units from 1 to 18446744073709551615"
	ruleSlippage = "must be a whole number from 0 to 10000"
)

// parseRequest reads the parameters. get returns a parameter's text, empty when it is absent: an
// empty one is as good as none. Errors are 400s that name field, value, or that it is missing, and
// rule.
func parseRequest(get func(field string) string, needUser bool) (*request, error) {
	r := &request{}
	var err error
	if r.source, err = parseKey(fieldSource, get(fieldSource)); err != nil {
		return nil, err
	}
	if r.target, err = parseKey(fieldTarget, get(fieldTarget)); err != nil {
		return nil, err
	}
	if r.source == r.target {
		return nil, invalid(fieldTarget, get(fieldTarget), "must differ from src_mint")
	}
	if get(fieldAmount) == "" {
		return nil, missing(fieldAmount, ruleAmount)
	}
	r.amount, err = strconv.ParseUint(get(fieldAmount), 10, 64)
	if err != nil || r.amount == 0 {
		return nil, invalid(fieldAmount, get(fieldAmount), ruleAmount)
	}
	if get(fieldSlippage) == "" {
		return nil, missing(fieldSlippage, ruleSlippage)
	}
	r.slippage, err = strconv.ParseUint(get(fieldSlippage), 10, 64)
	if err != nil || r.slippage > maxSlippage {
		return nil, invalid(fieldSlippage, get(fieldSlippage), ruleSlippage)
	}
	if text := get(fieldUser); text != "" || needUser {
		user, err := parseKey(fieldUser, text)
		if err != nil {
			return nil, err
		}
		if !solana.IsOnCurve(user[:]) {
			return nil, invalid(fieldUser, text, "must be a wallet: nobody can sign for an address off the curve")
		}
		r.user = &user
	}
	return r, nil
}

func parseKey(field, text string) (venue.Key, error) {
	if text == "" {
		return venue.Key{}, missing(field, ruleKey)
	}
	// 44 characters hold 32 bytes; decoding takes quadratic time, so longer ones are not tried.
	if len(text) > 44 {
		return venue.Key{}, invalid(field, text, ruleKey)
	}
	key, err := tokenaccount.ParseKey(text)
	if err != nil {
		return venue.Key{}, invalid(field, text, ruleKey)
	}
	return venue.Key(key), nil
}

// bodyFields reads a JSON object whose values are strings or numbers. Numbers keep their digits: an
// amount may exceed what a double holds.
func bodyFields(body []byte) (map[string]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var members map[string]any
	if err := decoder.Decode(&members); err != nil || members == nil {
		return nil, newError(400, "the body must be a JSON object with src_mint, dst_mint, amount_in, slippage_bps and user_account")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, newError(400, "the body must be one JSON object")
	}
	fields := map[string]string{}
	for _, name := range []string{fieldSource, fieldTarget, fieldAmount, fieldSlippage, fieldUser} {
		switch v := members[name].(type) {
		case nil:
		case string:
			fields[name] = v
		case json.Number:
			fields[name] = v.String()
		default:
			return nil, newError(400, "%s must be a string or a number", name)
		}
	}
	return fields, nil
}
