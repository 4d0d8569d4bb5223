package adminapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mintlake/mintlake/access/keys"
)

// Expiry converts the flag --expires to a time in RFC 3339; empty means never.
func Expiry(text string, now time.Time) (string, error) {
	if text == "never" {
		return "", nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.Format(time.RFC3339), nil
	}
	d, err := Span(text)
	if err != nil || d <= 0 {
		return "", fmt.Errorf("--expires %q: must be a time from now like 90d or 12h, a time like 2027-01-31T00:00:00Z, or never", text)
	}
	return now.Add(d).UTC().Format(time.RFC3339), nil
}

// Span parses a duration, which may be in days, such as 90d.
func Span(text string) (time.Duration, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// KeyPath returns the path of a key. Its product and name are the first two arguments.
func KeyPath(args []string) (string, error) {
	product, err := keys.ParseProduct(args[0])
	if err != nil {
		return "", err
	}
	return "/v1/keys/" + string(product) + "/" + url.PathEscape(args[1]), nil
}

// ProductQuery returns the query for a product, which is an optional first argument.
func ProductQuery(args []string) (url.Values, error) {
	query := url.Values{}
	if len(args) > 0 {
		product, err := keys.ParseProduct(args[0])
		if err != nil {
			return nil, err
		}
		query.Set("product", string(product))
	}
	return query, nil
}

// UsageTimes adds times to the query. It converts days, which the API does not know, to hours.
func UsageTimes(query url.Values, times map[string]string) error {
	for name, text := range times {
		if text == "" {
			continue
		}
		if ago, err := Span(text); err == nil {
			if ago < 0 {
				return fmt.Errorf("--%s %q: must not be in the future", name, text)
			}
			text = ago.String()
		}
		query.Set(name, text)
	}
	return nil
}
