package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
)

func cidOfTree(body []byte, chunk int, raw bool) string {
	sum := sha256.Sum256(treeNode(body, chunk, raw))
	if !raw {
		return base58.Encode(append([]byte{hashSHA256, 32}, sum[:]...))
	}
	return "b" + base32Lower.EncodeToString(append([]byte{1, codecDagPB, hashSHA256, 32}, sum[:]...))
}

func rawCID(body []byte) string {
	sum := sha256.Sum256(body)
	return "b" + base32Lower.EncodeToString(append([]byte{1, codecRaw, hashSHA256, 32}, sum[:]...))
}

// Identifiers that other programs made of known content.
func TestVerifyKnownIdentifiers(t *testing.T) {
	for cid, body := range map[string]string{
		// echo hello world | ipfs add
		"QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o": "hello world\n",
		// the empty file
		"QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH":              "",
		"QmVkbauSDEaMP4Tkq6Epm9uW75mWm136n81YH8fGtfwdHU":              strings.Repeat("\x00", 1<<20),
		"bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e": "hello world", // a raw block
	} {
		found := target{whole: cid}
		response := &Response{Body: []byte(body)}
		require.Nil(t, found.verify(response), cid)
		require.True(t, response.Verified, cid)
	}
}

func TestVerify(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 100_000) // 1.6 MB
	for name, test := range map[string]struct {
		whole    string
		body     []byte
		verified bool
		wrong    bool
	}{
		"raw":                            {rawCID(large), large, true, false},
		"raw, another body":              {rawCID(large), large[1:], false, true},
		"dag-pb in 256 KiB chunks":       {cidOfTree(large, 256<<10, false), large, true, false},
		"dag-pb with raw leaves":         {cidOfTree(large, 1<<20, true), large, true, false},
		"cut in a way that nobody knows": {cidOfTree(large, 100_000, true), large, false, false},
		"another body":                   {cidOfTree(large, 256<<10, false), large[1:], false, false},
		"another hash":                   {"bafk2bzacea", large, false, false},
		"no identifier":                  {"", large, false, false},
	} {
		found := target{whole: test.whole}
		response := &Response{Body: test.body}
		failed := found.verify(response)
		require.Equal(t, test.wrong, failed != nil, name)
		require.Equal(t, test.verified, response.Verified, name)
	}
}

// A gateway that serves something else, as 200, is passed over.
func TestAGatewayThatLies(t *testing.T) {
	content := []byte(`{"name":"true"}`)
	w := newWeb(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "good.test" {
			_, _ = io.WriteString(w, `{"name":"a lie"}`)
			return
		}
		_, _ = w.Write(content)
	}))
	w.dns.answers["second.test"] = [][]netip.Addr{addrs("8.8.8.8")}
	response, err := w.Document(context.Background(), "ipfs://"+rawCID(content))
	require.NoError(t, err)
	require.Equal(t, content, response.Body)
	require.True(t, response.Verified)

	_, err = w.Document(context.Background(), "ipfs://"+rawCID([]byte("what nobody has")))
	require.Equal(t, ClassWrongContent, ClassOf(err))

	response, err = w.Document(context.Background(), "ipfs://"+cidV0)
	require.NoError(t, err)
	require.False(t, response.Verified, "what cannot be compared is not called verified")
}
