package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPanicAmongManyRowsIsTheCallers: a request's handler answers for it, where a goroutine of its
// own would end the process.
func TestAPanicAmongManyRowsIsTheCallers(t *testing.T) {
	s := &Server{} // without a copy of the registry every look-up panics
	require.Panics(t, func() {
		s.findRows(make([]string, 10*rowsATime), make([]member, 10*rowsATime), &shape{}, &rowBuffers{})
	})
	require.Panics(t, func() { s.findRows(make([]string, 1), make([]member, 1), &shape{}, &rowBuffers{}) })
}
