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

// said returns the text of an error, without what could steer a terminal. Servers choose it.
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
	// Cut first: what is behind is never looked at.
	return terminal.Cut(terminal.Clean(text[:min(len(text), 16*maxSaid)]), maxSaid)
}

// median returns the median in milliseconds; 0 of none.
func median(all []time.Duration) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}
