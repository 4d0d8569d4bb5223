package swap

import (
	"maps"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/internal/nearest"
)

// foreign is a parameter of Jupiter's APIs that does something there which this API does not do. A
// client that gives it would sign a transaction that is not the one it asked for, so it is refused.
type foreign struct {
	// accepted are the values, besides null, that ask for what happens anyway.
	accepted []string
	// instead says what happens here, or what to give.
	instead string
}

const (
	insteadFee  = "give fee_bps and treasury, the wallet whose associated account gets it"
	insteadPay  = "give priority_fee, in lamports for the whole transaction"
	insteadOwn  = "give destination_token_account or native_destination_account"
	insteadSlip = "the slippage is what slippage_bps says"
	insteadHops = "all routes that there are compete: see Routes in docs/swap-reference.md"
	insteadNone = "sign txn, and send it by POST " + routeSend
)

// refusedNames has the names of Jupiter's swap API (v6, v1) and Ultra API that are not honoured.
// The table "Names that are refused" in docs/swap-reference.md is the same.
var refusedNames = map[string]foreign{
	"autoSlippage":                         {[]string{"false"}, insteadSlip},
	"blockhashSlotsToExpiry":               {[]string{"150"}, "a transaction is valid until last_valid_block_height"},
	"broadcastFeeType":                     {nil, insteadPay},
	"closeAuthority":                       {nil, "the user closes the accounts that the transaction opens"},
	"computeAutoSlippage":                  {[]string{"false"}, insteadSlip},
	"dynamicSlippage":                      {[]string{"false"}, insteadSlip},
	"excludeRouters":                       {nil, "give exclude_dexes"},
	"forJitoBundle":                        {[]string{"false"}, "no venue is left out for bundles: give exclude_dexes"},
	"jitoTipLamports":                      {[]string{"0"}, "give prioritizationFeeLamports with its member jitoTipLamports"},
	"keyedUiAccounts":                      {nil, "quotes are made of the chain's own state"},
	"minimizeSlippage":                     {[]string{"false"}, insteadSlip},
	"preferLiquidDexes":                    {[]string{"false"}, "give dexes"},
	"priorityFeeLamports":                  {nil, insteadPay},
	"quoteArgs":                            {nil, insteadHops},
	"quoteType":                            {nil, insteadHops},
	"receiver":                             {nil, insteadOwn},
	"referralAccount":                      {nil, insteadFee},
	"referralFee":                          {nil, insteadFee},
	"requestId":                            {nil, insteadNone},
	"signedTransaction":                    {nil, insteadNone},
	"taker":                                {nil, "give user_account"},
	"tokenCategoryBasedIntermediateTokens": {[]string{"false"}, insteadHops},
	"trackingAccount":                      {nil, "the transaction names no account for tracking"},
	"useTokenLedger":                       {[]string{"false"}, "the amount is that of the request"},
}

// harmless has names of the same APIs that change nothing here, whatever their value, and why. The
// table "Names that change nothing" in docs/swap-reference.md is the same.
var harmless = map[string]string{ //nolint:gosec // G101: names with "Token" are no credentials
	"allowOptimizedWrappedSolTokenAccount": "it allows what is not done",
	"autoSlippageCollisionUsdValue":        "it belongs to autoSlippage, which is refused",
	"correctLastValidBlockHeight":          "last_valid_block_height is always the right one",
	"instructionVersion":                   "Jupiter's program is not called",
	"maxAutoSlippageBps":                   "it belongs to autoSlippage, which is refused",
	"programAuthorityId":                   "Jupiter's program is not called",
	"supportDynamicIntermediateTokens":     "it only lets more routes compete",
	"useSharedAccounts":                    "what is between two swaps lies in the user's own accounts",
}

// knownNames are all names that a request may have: first those of parameters and their aliases,
// then those of refusedNames and harmless. honoured refuses the names of refusedNames by their
// values.
var knownNames = func() []string {
	names := slices.Clone(order)
	for _, name := range order {
		if alias := aliases[name]; alias != "" {
			names = append(names, alias)
		}
	}
	return slices.Concat(names, slices.Sorted(maps.Keys(refusedNames)), slices.Sorted(maps.Keys(harmless)))
}()

// known maps each of knownNames to itself: so a name in a buffer becomes a string without a copy.
var known = func() map[string]string {
	names := map[string]string{}
	for _, name := range knownNames {
		names[name] = name
	}
	return names
}()

// unknownName returns a 400 for a name that no parameter of a route has. It does not repeat the
// value, which may be a key at the wrong place.
func unknownName(name string, names []string) *Error {
	return badRequest("there is no parameter %s%s", quoted(name), nearest.Hint(name, names))
}

// bodiless returns an error for a GET with a body, because the body would be ignored.
func bodiless(c *fiber.Ctx) error {
	if c.Method() == fiber.MethodGet && len(c.Request().Body()) > 0 {
		return badRequest("a GET takes no body: its parameters belong into the URL")
	}
	return nil
}

// firstArg returns the name of a parameter in the URL, if there is one.
func firstArg(c *fiber.Ctx) (name string, given bool) {
	for key := range c.Context().QueryArgs().All() {
		return string(key), true
	}
	return "", false
}

// onlyQuery returns an error if the URL has a parameter that is none of names or that is given
// twice, or if a GET has a body.
func onlyQuery(c *fiber.Ctx, names ...string) error {
	if err := bodiless(c); err != nil {
		return err
	}
	seen := map[string]bool{}
	for key := range c.Context().QueryArgs().All() {
		name := string(key)
		switch {
		case !slices.Contains(names, name):
			return unknownName(name, names)
		case seen[name]:
			return twice(name)
		}
		seen[name] = true
	}
	return nil
}

// honoured returns an error for the first parameter that asks for what this API does not do.
func (f fields) honoured() error {
	for i := range f {
		name, text := f[i].name, f[i].text
		other, ok := refusedNames[name]
		switch {
		case !ok || text == "" || slices.Contains(other.accepted, text):
		case other.accepted != nil:
			return invalid(name, text, "must be "+other.accepted[0]+", or absent: "+other.instead)
		default:
			return invalid(name, text, "must be absent: "+other.instead)
		}
	}
	return nil
}
