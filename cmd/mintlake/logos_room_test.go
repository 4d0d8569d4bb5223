package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	apilogos "github.com/mintlake/mintlake/api/logos"
	"github.com/mintlake/mintlake/enrich/logos"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
)

type nothing struct{}

func (nothing) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	return nil, nil
}
func (nothing) Produce(context.Context, ...kafka.Record) error { return nil }

// What the dashboard shows is what the binary counts.
func TestTheLogoDashboardNamesMetricsThatExist(t *testing.T) {
	registry := prometheus.NewRegistry()
	fetcher, err := fetch.New(fetch.Config{Purpose: "image"}, fetch.Deps{Registerer: registry})
	require.NoError(t, err)
	store, err := blobs.New(blobs.Config{Dir: t.TempDir()}, blobs.Deps{Registerer: registry})
	require.NoError(t, err)
	pool, err := decoder.New(decoder.Config{}, decoder.Deps{Registerer: registry})
	require.NoError(t, err)
	loader, err := imageload.New(imageload.Config{}, imageload.Deps{Fetcher: fetcher, Decoder: pool, Store: store})
	require.NoError(t, err)
	_, err = logos.New(logos.Config{}, logos.Deps{
		Offsets: nothing{}, Producer: nothing{}, Loader: loader, Host: fetcher.Host, Registerer: registry,
		OpenTail: func() (kafka.TailReader, error) { return nil, nil },
	})
	require.NoError(t, err)
	_, err = apilogos.New(apilogos.Config{}, apilogos.Deps{
		Loader: loader, Store: store, Registerer: registry, OpenTail: func() (kafka.TailReader, error) { return nil, nil },
	})
	require.NoError(t, err)
	families, err := registry.Gather()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, family := range families {
		known[family.GetName()] = true
	}
	for _, file := range []string{"deploy/grafana/logos.json", "docs/logos.md"} {
		text, err := os.ReadFile(filepath.Join(testkit.Root(t), file))
		require.NoError(t, err)
		names := regexp.MustCompile(`mintlake_(?:img|blobs|logos|fetch|decoder)_[a-z_]*[a-z]`).FindAllString(string(text), -1)
		require.NotEmpty(t, names)
		for _, name := range names {
			if name != "mintlake_fetch" {
				require.True(t, known[name], "%s names %s", file, name)
			}
		}
	}
}

func TestDecisionsAreChecked(t *testing.T) {
	cfg := defaults()
	for url, ok := range map[string]bool{
		"https://example.org/x.png": true, "ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbDG": true, "": true,
		"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>": true, "data:text/html,<p>": false, "javascript:alert(1)": false, "http://user@x/": false,
	} {
		require.Equal(t, ok, checkLogoURL(cfg, url) == nil, url)
	}
	require.ErrorContains(t, decide(t.Context(), cfg, nil, "nonsense", nil), "is no mint")
	bad := defaults()
	bad.Logos = LogoConfig{Timeout: -time.Second}
	err := bad.validate()
	for _, key := range []string{"logos.timeout", "logos.workers", "logos.disk_bytes", "logos.retry"} {
		require.ErrorContains(t, err, key)
	}
}
