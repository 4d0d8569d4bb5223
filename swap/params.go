package swap

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

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
	fieldOnlyHubs    = "only_hubs"
	fieldQuote       = "quote"

	fieldVersion      = "transaction_version"
	fieldLegacy       = "as_legacy_transaction"
	fieldPayer        = "payer"
	fieldDestination  = "destination_token_account"
	fieldNative       = "native_destination_account"
	fieldFeeAccount   = "fee_account"
	fieldWrap         = "wrap_and_unwrap_sol"
	fieldUnitPrice    = "compute_unit_price_micro_lamports"
	fieldDynamicUnits = "dynamic_compute_unit_limit"
	fieldSkipAccounts = "skip_user_accounts_rpc_calls"
	fieldOffCurve     = "allow_off_curve"
	fieldSizes        = "sizes"
)

// aliases are the names that other routers give the parameters. amount is the amount of the side
// that swap_mode fixes.
var aliases = map[string]string{
	fieldSource: "inputMint", fieldTarget: "outputMint", fieldAmount: "amount", fieldAmountOut: "amount", fieldSlippage: "slippageBps",
	fieldUser: "userPublicKey", fieldMode: "swapMode", fieldOnlyDirect: "onlyDirectRoutes", fieldExclude: "excludeDexes",
	fieldMaxAccounts: "maxAccounts", fieldPriorityFee: "prioritizationFeeLamports", fieldFee: "platformFeeBps", fieldQuote: "quoteResponse",
	fieldOnlyHubs: "restrictIntermediateTokens", fieldVersion: "transactionVersion", fieldLegacy: "asLegacyTransaction",
	fieldDestination: "destinationTokenAccount", fieldNative: "nativeDestinationAccount", fieldFeeAccount: "feeAccount", fieldWrap: "wrapAndUnwrapSol",
	fieldUnitPrice: "computeUnitPriceMicroLamports", fieldDynamicUnits: "dynamicComputeUnitLimit", fieldSkipAccounts: "skipUserAccountsRpcCalls",
}

// order is the order in which parameters are checked.
var order = []string{
	fieldQuote, fieldFormat, fieldSource, fieldTarget, fieldMode, fieldAmount, fieldAmountOut, fieldSlippage, fieldUser, fieldOnlyDirect, fieldOnlyHubs,
	fieldDexes, fieldExclude, fieldMaxAccounts, fieldPriorityFee, fieldFee, fieldTreasury, fieldMaxAge, fieldVersion, fieldLegacy, fieldPayer, fieldDestination,
	fieldNative, fieldFeeAccount, fieldWrap, fieldUnitPrice, fieldDynamicUnits, fieldSkipAccounts, fieldOffCurve, fieldSizes,
}

// fields are a request's parameters as text, by the name that the client used. An empty text means
// that the parameter is absent. They are so few that a list is quicker than a map.
type fields []field

type field struct{ name, text string }

// text returns the text of the parameter that is given under exactly this name; "" if there is
// none. A parameter may have two spellings, its name and its alias: get takes either.
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

// isList are the parameters that are lists: texts with commas. A URL may also have the parameter
// several times, and a body may have an array.
var isList = map[string]bool{fieldDexes: true, fieldExclude: true, aliases[fieldExclude]: true}

// queryFields reads the parameters of a URL. It is an error if a name is not known, if a parameter
// that is no list is given twice, if a parameter is empty although it may not be, if there is a
// quote, or if the request has a body.
func queryFields(c *fiber.Ctx) (fields, error) {
	if err := bodiless(c); err != nil {
		return nil, err
	}
	args := c.Context().QueryArgs()
	f := make(fields, 0, min(args.Len(), len(known)))
	for key, value := range args.All() {
		name, ok := known[string(key)]
		if !ok {
			return nil, unknownName(string(key), knownNames)
		}
		if len(value) == 0 {
			if err := filled(name); err != nil {
				return nil, err
			}
		}
		switch given := f.has(name); {
		case given && isList[name]:
			f.with(name, f.text(name)+","+string(value))
		case given:
			return nil, twice(name)
		default:
			f = append(f, field{name, string(value)})
		}
	}
	if _, text := f.get(fieldQuote); text != "" {
		return nil, badRequest("%s belongs into the body of POST %s", fieldQuote, routeSwap)
	}
	return f, nil
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

// bodyFields reads a JSON object whose values are strings, numbers or booleans; a quote is an
// object, and a list may be an array of strings. It is an error if a name is not known. Numbers
// keep their digits: an amount may exceed what a double holds.
func bodyFields(body []byte) (fields, error) {
	var f fields
	err := eachMember(body, func(name string, value json.RawMessage) error {
		if _, ok := known[name]; !ok {
			return unknownName(name, knownNames)
		}
		text, err := textOf(name, value)
		f = append(f, field{name, text})
		return err
	})
	return f, err
}

// eachMember calls visit with each member of a JSON object, and returns the first error. It is an
// error if the text is no JSON object, or has a member twice.
func eachMember(object []byte, visit func(name string, value json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return badRequest(errBody)
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || decoder.Decode(&value) != nil {
			return badRequest(errBody)
		}
		if seen[name] {
			return twice(strings.Trim(quoted(name), `"`))
		}
		seen[name] = true
		if err := visit(name, value); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return badRequest(errBody)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badRequest("the body must be one JSON object")
	}
	return nil
}

// textOf returns the value of a member as text. A string loses its quotation marks, and a list
// becomes its entries with commas. Numbers, booleans, and objects where they are allowed stay as
// they are in JSON. null becomes "", which counts as absent.
func textOf(name string, value json.RawMessage) (string, error) {
	isQuote := name == fieldQuote || name == aliases[fieldQuote]
	_, isForeign := refusedNames[name]
	switch first := value[0]; {
	case first == 'n':
		return "", nil
	case isQuote && first == '{', isForeign && first != '"', harmless[name] != "":
		return string(value), nil
	case isQuote:
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
	case first == '[' && isList[name]:
		var entries []string
		if json.Unmarshal(value, &entries) != nil || len(entries) == 0 || slices.Contains(entries, "") {
			return "", badRequest("%s must be a list of names, or one text with commas", name)
		}
		return strings.Join(entries, ","), nil
	case first == '{' && (name == fieldPriorityFee || name == aliases[fieldPriorityFee]):
		return string(value), nil
	case first == '{' || first == '[' || len(value) > maxScalar:
		return "", badRequest("%s must be a string or a number", name)
	}
	return string(value), nil
}

// maxScalar is the most characters of a number.
const maxScalar = 64
