package preflight

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/internal/terminal"
)

// maxSaid bounds the text of a server in the report, in columns.
const maxSaid = 160

// said returns the text of an error without control characters: servers choose the text, and it
// must not steer a terminal.
func said(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded:
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "broken off"
	}
	return clean(err.Error())
}

func clean(text string) string {
	// The first cut bounds the work for a text of any length.
	return terminal.Cut(terminal.Clean(text[:min(len(text), 16*maxSaid)]), maxSaid)
}

// median returns the median in milliseconds; 0 for an empty list.
func median(all []time.Duration) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}
