package logos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
)

func TestConfigProblems(t *testing.T) {
	_, err := New(Config{}, Deps{})
	require.Error(t, err)
	w := newWorld()
	deps := Deps{Offsets: w.topic, OpenTail: func() (kafka.TailReader, error) { return nil, nil }, Producer: w.topic, Loader: w, Host: hostOf}
	_, err = New(Config{Retry: time.Hour, MaxRetry: time.Minute}, deps)
	require.Error(t, err)
	_, err = New(Config{Workers: -1}, deps)
	require.Error(t, err)
}
