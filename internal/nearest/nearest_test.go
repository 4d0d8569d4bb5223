package nearest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheNameThatWasMeant(t *testing.T) {
	names := []string{"api.addr", "api.body_limit", "data_dir", "source", "kafka.addr"}
	for typed, want := range map[string]string{
		"api.adr": "api.addr", "api.addr": "api.addr", "data_dri": "data_dir", "SOURCE": "source", "body_limit": "api.body_limit",
		"": "", "x": "", "completely_else": "", strings.Repeat("a", 1000): "",
	} {
		require.Equal(t, want, Of(typed, names), typed)
	}
	require.Equal(t, "; did you mean source?", Hint("sorce", names))
	require.Empty(t, Hint("zzz", names))
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{{"", ""}: 0, {"abc", "abc"}: 0, {"abc", "acb"}: 1, {"abc", "ab"}: 1, {"kitten", "sitting"}: 3, {"", "ab"}: 2} {
		require.Equal(t, want, distance(pair[0], pair[1]), pair)
		require.Equal(t, want, distance(pair[1], pair[0]), pair)
	}
}
