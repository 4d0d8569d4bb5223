package swap

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/gofiber/fiber/v2"
)

// Names of the parameters. The first five are those of the specification.
const (
	fieldSource   = "src_mint"
	fieldTarget   = "dst_mint"
	fieldAmount   = "amount_in"
	fieldSlippage = "slippage_bps"
	fieldUser     = "user_account"

	fieldAmountOut   = "amount_out"
	fieldMode        = "swap_mode"
	fieldFormat      = "format"
	fieldOnlyDirect  = "only_direct"
	fieldDexes       = "dexes"
	fieldExclude     = "exclude_dexes"
	fieldMaxAccounts = "max_accounts"
	fieldPriorityFee = "priority_fee"
	fieldFee         = "fee_bps"
	fieldTreasury    = "treasury"
	fieldMaxAge      = "max_age_slots"
	fieldQuote       = "quote"
)

// aliases are the names that other routers give the parameters. amount is the amount of the side
// that swap_mode fixes.
var aliases = map[string]string{
	fieldSource: "inputMint", fieldTarget: "outputMint", fieldAmount: "amount", fieldAmountOut: "amount", fieldSlippage: "slippageBps",
	fieldUser: "userPublicKey", fieldMode: "swapMode", fieldOnlyDirect: "onlyDirectRoutes", fieldExclude: "excludeDexes",
	fieldMaxAccounts: "maxAccounts", fieldPriorityFee: "prioritizationFeeLamports", fieldFee: "platformFeeBps", fieldQuote: "quoteResponse",
}

// order is the order in which parameters are checked.
var order = []string{
	fieldQuote, fieldFormat, fieldSource, fieldTarget, fieldMode, fieldAmount, fieldAmountOut, fieldSlippage, fieldUser, fieldOnlyDirect, fieldDexes,
	fieldExclude, fieldMaxAccounts, fieldPriorityFee, fieldFee, fieldTreasury, fieldMaxAge,
}

// known has all names of parameters, in both spellings, by themselves: a name that is found need
// not be copied.
var known = func() map[string]string {
	names := map[string]string{}
	for _, name := range order {
		names[name] = name
		if alias := aliases[name]; alias != "" {
			names[alias] = alias
		}
	}
	return names
}()

// fields are a request's parameters as text, by the name that the client used. An empty text means
// that the parameter is absent. They are so few that a list is quicker than a map.
type fields []field

type field struct{ name, text string }

// text returns the text of the parameter with this name, in this spelling.
func (f fields) text(name string) string {
	for i := range f {
		if f[i].name == name {
			return f[i].text
		}
	}
	return ""
}

// has returns whether the parameter is given in this spelling, even if it is empty.
func (f fields) has(name string) bool {
	return slices.ContainsFunc(f, func(one field) bool { return one.name == name })
}

// with sets the text of a parameter in this spelling, and returns the fields.
func (f fields) with(name, text string) fields {
	for i := range f {
		if f[i].name == name {
			f[i].text = text
			return f
		}
	}
	return append(f, field{name, text})
}

// once checks that no parameter is given in both spellings.
func (f fields) once() error {
	for _, name := range order {
		if alias := aliases[name]; alias != "" && f.text(alias) != "" && f.text(name) != "" {
			return badRequest("%s and %s are given: they are two spellings of one parameter, give one of them", name, alias)
		}
	}
	return nil
}

// get returns the text of a parameter, and the name that the client used for it.
func (f fields) get(field string) (name, text string) {
	if alias := aliases[field]; alias != "" {
		if text := f.text(alias); text != "" {
			return alias, text
		}
	}
	return field, f.text(field)
}

// queryFields reads the parameters of a URL and ignores names that it does not know. It is an error
// if a parameter is given twice, has an empty value although it may not, or is a quote.
func queryFields(c *fiber.Ctx) (fields, error) {
	args := c.Context().QueryArgs()
	f := make(fields, 0, min(args.Len(), len(known)))
	var err error
	args.VisitAll(func(key, value []byte) {
		name, ok := known[string(key)]
		if !ok || err != nil {
			return
		}
		if f.has(name) {
			err = twice(name)
		} else if len(value) == 0 {
			err = filled(name)
		}
		f = append(f, field{name, string(value)})
	})
	if _, text := f.get(fieldQuote); text != "" {
		return nil, badRequest("%s belongs into the body of POST %s", fieldQuote, routeSwap)
	}
	return f, err
}

// mayBeEmpty are the parameters of the specification. They may have an empty value, which counts as
// absent.
var mayBeEmpty = map[string]bool{fieldSource: true, fieldTarget: true, fieldAmount: true, fieldSlippage: true, fieldUser: true}

// filled returns the error for a parameter with an empty value; nil if it may be empty.
func filled(name string) error {
	if mayBeEmpty[name] {
		return nil
	}
	return invalid(name, "", "must have a value, or be absent")
}

// errBody is the message for a body that is not a JSON object of parameters.
const errBody = "the body must be a JSON object with src_mint, dst_mint, amount_in, slippage_bps and user_account, or with quote and user_account"

// bodyFields reads a JSON object whose values are strings, numbers or booleans; quote may be an
// object. Members that it does not know are ignored. Numbers keep their digits: an amount may
// exceed what a double holds.
func bodyFields(body []byte) (fields, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, badRequest(errBody)
	}
	var f fields
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || decoder.Decode(&value) != nil {
			return nil, badRequest(errBody)
		}
		if _, ok := known[name]; !ok {
			continue
		}
		if f.has(name) {
			return nil, twice(name)
		}
		text, err := scalar(name, value)
		if err != nil {
			return nil, err
		}
		f = append(f, field{name, text})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, badRequest(errBody)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("the body must be one JSON object")
	}
	return f, nil
}

// scalar returns the text of a member: a string, a number, a boolean, or the object of a quote.
// null counts as absent.
func scalar(name string, value json.RawMessage) (string, error) {
	isQuote := name == fieldQuote || name == aliases[fieldQuote]
	switch first := value[0]; {
	case isQuote && first == '{':
		return string(value), nil
	case isQuote && first != 'n':
		return "", badRequest("%s must be a quote as this API answered it", name)
	case first == '"':
		var text string
		if json.Unmarshal(value, &text) != nil {
			return "", badRequest(errBody)
		}
		if text == "" {
			return "", filled(name)
		}
		return text, nil
	case first == 'n':
		return "", nil
	case first == '{' || first == '[' || len(value) > maxScalar:
		return "", badRequest("%s must be a string or a number", name)
	}
	return string(value), nil
}

// maxScalar is the most characters of a number.
const maxScalar = 64
