package registry_test

import (
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry"
)

func TestIsURI(t *testing.T) {
	for text, want := range map[string]bool{
		"https://example.org/a.json?v=1#x": true, "ipfs://bafy/2": true, "ar://x": true, "data:image/png;base64,AA==": true,
		"http://[::1]:80/a": true, "https://x/%20": true, "urn:a:b": true,
		"": false, "not a uri": false, "example.org/a.json": false, "/a.json": false, "://x": false, ":": false, "1http://x": false,
		"https://x/a b": false, "https://x/é": false, "https://x/%2": false, "https://x/%zz": false, "https://x/#a#b": false, "https://x/[1]": false,
		"https://x/\x00": false, "https://x/a\n": false, "https://x/\"": false, "http://[x]/": false, "http://[]/": false,
	} {
		require.Equal(t, want, registry.IsURI(text), text)
	}
}

// TestIsURIIsItsPattern: the SQL of the projector has the pattern.
func TestIsURIIsItsPattern(t *testing.T) {
	pattern := regexp.MustCompile(registry.URIPattern)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(https?|ipfs|[a-z0-9]{0,3}):?(//)?(\[[0-9a-f:]{0,4}\]?)?[a-z%# \[\]é'\\/.0-9A-F]{0,12}\n?`)).Draw(t, "text")
		is := registry.IsURI(text)
		require.Equal(t, pattern.MatchString(text), is, "%q", text)
		if is {
			require.Equal(t, text, registry.EncodeURI(text))
		}
	})
}

func TestEncodeURI(t *testing.T) {
	for text, want := range map[string]string{
		"https://x/my logo.png": "https://x/my%20logo.png", "https://x/é?q=\"": "https://x/%C3%A9?q=%22", "https://x/100%": "https://x/100%25",
		"https://x/a%20b c": "https://x/a%20b%20c", "http://[::1]/[a]": "http://[::1]/%5Ba%5D", "data:image/svg+xml,<svg/>": "data:image/svg+xml,%3Csvg/%3E",
		"not a uri": "not%20a%20uri", "https://x/#a#b": "https://x/#a%23b",
	} {
		require.Equal(t, want, registry.EncodeURI(text))
	}
	require.False(t, registry.IsURI(registry.EncodeURI("not a uri")))
	rapid.Check(t, func(t *rapid.T) {
		text := "https://example.org/" + rapid.String().Draw(t, "path")
		encoded := registry.EncodeURI(text)
		require.True(t, registry.IsURI(encoded), "%q", encoded)
		_, err := url.Parse(encoded)
		require.NoError(t, err)
	})
}
