package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// serveImages runs an API node. Its registry is in memory, and the logos of its tokens are the
// files of folder. It prints the node's URL when all images are cached.
func serveImages(folder string, images int) error {
	ctx := context.Background()
	origin := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer origin.Close()
	log := apitest.NewLog()
	for i := range images {
		mint := log.Token(i+1, 10, "SYM", "Name", time.Now())
		log.Message(schemas.TopicEnrichments, mint, &eventspb.Enrichment{Mint: apitest.Mint(i + 1), Slot: 10, Fact: &eventspb.Enrichment_Offchain{
			Offchain: &eventspb.OffchainMetadata{Uri: []byte("https://example.org/x.json"), Image: origin.URL + "/" + mint},
		}}, time.Now())
	}
	fetcher, err := fetch.New(fetch.Config{AllowPrivate: []string{origin.Listener.Addr().String()}, PerHost: 64}, fetch.Deps{})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mintlake-bench-img-store-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := blobs.New(blobs.Config{Dir: dir}, blobs.Deps{})
	if err != nil {
		return err
	}
	if err := store.Open(); err != nil {
		return err
	}
	pool, err := decoder.New(decoder.Config{}, decoder.Deps{})
	if err != nil {
		return err
	}
	defer pool.Close()
	loader, err := imageload.New(imageload.Config{}, imageload.Deps{Fetcher: fetcher, Decoder: pool, Store: store})
	if err != nil {
		return err
	}
	cfg := api.DefaultConfig()
	cfg.Addr, cfg.RateLimits.Enabled, cfg.MaxConnectionsPerClient = "127.0.0.1:0", false, 0
	node, err := api.New(cfg, api.Deps{
		Offsets: log, Producer: log, Images: loader, ImageStore: store,
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return log.Tail(topics, start), nil
		},
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	<-node.Bound()
	url := "http://" + node.Addr()
	for i := range images {
		if err := warm(url+"/img/"+mintOf(i), ended); err != nil {
			return err
		}
	}
	fmt.Println(url)
	return <-ended
}

// warm asks for an image until the node answers with it, and no longer with the fallback.
func warm(url string, ended <-chan error) error {
	for range 1000 {
		response, err := http.Get(url) //nolint:gosec // our own node
		if err == nil {
			kind := response.Header.Get("Content-Type")
			_ = response.Body.Close()
			if kind == "image/png" {
				return nil
			}
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the node ended: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s does not become an image", url)
}
