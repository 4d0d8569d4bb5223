package main

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/enrich/logos"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/schemas"
)

// LogoConfig is the settings under `logos`.
type LogoConfig struct {
	Enabled     bool          `koanf:"enabled" usage:"check the tokens' logos, in one process of a cluster, and serve them; enrich.offchain turns it off too"`
	DiskBytes   int64         `koanf:"disk_bytes" usage:"most bytes of the image store under the data folder"`
	MemoryBytes int64         `koanf:"memory_bytes" usage:"most bytes of images kept in memory"`
	Workers     int           `koanf:"workers" usage:"images checked at once"`
	PerHost     int           `koanf:"per_host" usage:"images fetched at once from one host"`
	Timeout     time.Duration `koanf:"timeout" usage:"most time to fetch one image"`
	MaxBytes    int64         `koanf:"max_bytes" usage:"largest image"`
	Retry       time.Duration `koanf:"retry" usage:"when a broken logo is looked at again; twice as long after each failure"`
	Recheck     time.Duration `koanf:"recheck" usage:"when a good logo is looked at again"`
}

func defaultLogoConfig() LogoConfig {
	return LogoConfig{
		Enabled: true, DiskBytes: 2 << 30, MemoryBytes: 64 << 20, Workers: 64, PerHost: 4, Timeout: 15 * time.Second, MaxBytes: 8 << 20,
		Retry: 10 * time.Minute, Recheck: 7 * 24 * time.Hour,
	}
}

// validate reports each problem with its key.
func (c *LogoConfig) validate(bad func(key string, value any, rule string)) {
	for key, value := range map[string]int64{
		"logos.workers": int64(c.Workers), "logos.per_host": int64(c.PerHost), "logos.timeout": int64(c.Timeout), "logos.retry": int64(c.Retry),
		"logos.recheck": int64(c.Recheck), "logos.max_bytes": c.MaxBytes,
	} {
		if value <= 0 {
			bad(key, value, "must be more than 0; logos.enabled turns logos off")
		}
	}
	if c.DiskBytes < 1<<20 {
		bad("logos.disk_bytes", c.DiskBytes, "must be at least 1048576")
	}
	if c.MemoryBytes < 0 {
		bad("logos.memory_bytes", c.MemoryBytes, "must not be negative")
	}
}

// images fetches images. The room that checks logos and the API share it, and so the limits per
// host.
type images struct {
	fetcher *fetch.Fetcher
	loader  *imageload.Loader
	store   *blobs.Store // nil if this process serves no images
}

// openImages makes the images at the first call; later calls return the same. store is false if
// this process has no API: then no image is stored.
func (s *system) openImages(store bool) (*images, error) {
	if s.images != nil {
		return s.images, nil
	}
	cfg := &s.cfg.Logos
	made := &images{}
	var err error
	fetches := s.fetchConfig()
	fetches.Purpose, fetches.MaxBytes, fetches.PerHost = "image", cfg.MaxBytes, cfg.PerHost
	fetches.Timeout, fetches.TryTimeout = cfg.Timeout, min(cfg.Timeout, 8*time.Second)
	if made.fetcher, err = fetch.New(fetches, fetch.Deps{Registerer: s.registerer}); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, made.fetcher.Close)
	pool, err := decoder.New(decoder.Config{}, decoder.Deps{Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, pool.Close)
	deps := imageload.Deps{Fetcher: made.fetcher, Decoder: pool}
	if store {
		folder, err := s.cfg.dataPath("logos")
		if err != nil {
			return nil, err
		}
		if made.store, err = blobs.New(blobs.Config{
			Dir: folder, DiskBytes: cfg.DiskBytes, MemoryBytes: cfg.MemoryBytes,
		}, blobs.Deps{Logger: s.logger, Registerer: s.registerer}); err != nil {
			return nil, err
		}
		deps.Store = made.store
		s.lifecycle.start("images", made.store.Run)
	}
	if made.loader, err = imageload.New(imageload.Config{}, deps); err != nil {
		return nil, err
	}
	s.images = made
	return made, nil
}

// checksLogos reports whether the settings allow this process to fetch logos.
func (s *system) checksLogos() bool { return s.cfg.Logos.Enabled && s.cfg.Enrich.Offchain }

// startLogos starts the room that checks logos, and that asks again for documents that could not be
// read. together is true if the API runs in the same process.
func (s *system) startLogos(together bool) error {
	if !s.cfg.Enrich.Offchain {
		return nil
	}
	cfg := &s.cfg.Logos
	deps := logos.Deps{
		Offsets: s.admin, Producer: s.writers.For("enrich"), Logger: s.logger, Registerer: s.registerer,
		OpenTail: func() (kafka.TailReader, error) { return s.openEnrichments("logos") },
	}
	if s.checksLogos() {
		made, err := s.openImages(together)
		if err != nil {
			return err
		}
		deps.Loader, deps.Host, deps.Groups = made.loader, made.fetcher.Host, made.fetcher.Groups
	}
	machine, err := logos.New(logos.Config{
		Workers: cfg.Workers, PerHost: cfg.PerHost, Retry: cfg.Retry, MaxRetry: max(cfg.Retry, 7*24*time.Hour), Recheck: cfg.Recheck,
	}, deps)
	if err != nil {
		return err
	}
	s.lifecycle.start("logos", machine.Run)
	return nil
}

func (s *system) openEnrichments(name string) (kafka.TailReader, error) {
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: []string{schemas.TopicEnrichments}, Name: name},
		s.kafka)
	if err != nil {
		return nil, err
	}
	return tailer, nil
}

// supplyImages gives the API its collaborators for logos.
func (s *system) supplyImages(_ context.Context, deps *api.Deps) error {
	if !s.checksLogos() {
		return nil
	}
	made, err := s.openImages(true)
	if err != nil {
		return err
	}
	deps.Images, deps.ImageStore = made.loader, made.store
	return nil
}
