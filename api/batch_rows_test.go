package api

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas"
)

// TestAPanicAmongManyRowsIsTheCallers: a request's handler answers for it, where a goroutine of its
// own would end the process.
func TestAPanicAmongManyRowsIsTheCallers(t *testing.T) {
	s := &Server{} // without a copy of the registry every look-up panics
	mints := slices.Repeat([]string{schemas.MintWrappedSOL}, 10*rowsATime)
	require.Panics(t, func() {
		s.findRows(mints, make([]member, 10*rowsATime), &shape{}, &rowBuffers{})
	})
	require.Panics(t, func() { s.findRows(mints[:1], make([]member, 1), &shape{}, &rowBuffers{}) })
}
