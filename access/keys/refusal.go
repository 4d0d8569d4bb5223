package keys

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// The rules by which a request is refused. The names are labels of metrics.
const (
	RuleMissing   = "missing"
	RuleUnknown   = "unknown"
	RuleRevoked   = "revoked"
	RuleExpired   = "expired"
	RuleRotated   = "rotated"
	RuleOrigin    = "origin"
	RuleAddress   = "address"
	RuleMethod    = "method"
	RuleRequests  = "requests_per_second"
	RuleStreams   = "streams"
	RuleAddresses = "stream_addresses"
	// RuleNewer is a rule that this version does not know or cannot read. The key is refused, as
	// the rule cannot be enforced.
	RuleNewer = "newer"
)

// RefusedLabels are the metric labels of refusals: "unauthorized" for 401, else "key_" with the
// rule.
func RefusedLabels() []string {
	labels := []string{"unauthorized"}
	for _, rule := range []string{
		RuleRevoked, RuleExpired, RuleRotated, RuleOrigin, RuleAddress, RuleMethod, RuleRequests, RuleStreams, RuleAddresses, RuleNewer,
	} {
		labels = append(labels, "key_"+rule)
	}
	return labels
}

// Refusal is why a request may not pass. Its text is for the client and never holds a key.
type Refusal struct {
	// Status is the HTTP status: 401 for a key that is missing, unknown or of another product, 403
	// for a known key that has ended or is not for this request, 429 for a limit.
	Status int
	// Rule is one of the Rule constants.
	Rule    string
	message string
	// Budget says when to try again. It is set if Rule is RuleRequests.
	Budget Budget
}

// Error implements error: a stream ends with a Refusal as its reason.
func (r *Refusal) Error() string { return r.message }

// RPCCode is the JSON-RPC code: -32401, -32403 or -32429.
func (r *Refusal) RPCCode() int { return -32000 - r.Status }

// Headers calls set for each HTTP header of the refusal.
func (r *Refusal) Headers(set func(name, value string)) {
	r.Budget.Headers(set)
	if r.Status == http.StatusTooManyRequests {
		set("Retry-After", strconv.Itoa(max(1, r.Budget.seconds())))
	}
}

func refuse(status int, rule, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Rule: rule, message: fmt.Sprintf(format, args...)}
}

// Budget is how many requests a key has left of its requests per second. It is zero for a key
// without that limit.
type Budget struct {
	// Limit is how many requests per second the key may make. Remaining is how many it may make now
	// in one burst.
	Limit, Remaining int
	// Reset is the time until a burst of Limit requests may be made again. In a refusal it is the
	// time until the request may be tried again.
	Reset time.Duration
}

func (b Budget) seconds() int { return int(math.Ceil(b.Reset.Seconds())) }

// Headers calls set for each HTTP header of the budget. A key without a limit has none.
func (b Budget) Headers(set func(name, value string)) {
	if b.Limit == 0 {
		return
	}
	set("RateLimit-Limit", strconv.Itoa(b.Limit))
	set("RateLimit-Remaining", strconv.Itoa(b.Remaining))
	set("RateLimit-Reset", strconv.Itoa(b.seconds()))
}
