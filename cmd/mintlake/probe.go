package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/internal/config"
)

// probeAnswer bounds the bytes of a response that are read: they become part of an error message.
const probeAnswer = 512

// probeCommand is for health checks in images without a shell or curl: Dockerfile and
// docker-compose.yml call it.
func probeCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "probe [URL]",
		Short: "Ask a running room whether it is well; exit 0 when it answers 200",
		Long: `Ask a running room on this machine whether it is well, for the health checks of containers.

Without URL it asks /healthz of metrics.addr, which says that the process runs. API, gateway and swap answer
/readyz on their own addresses when they can serve:
  mintlake probe http://127.0.0.1:8080/readyz`,
		Args: cli.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			target, err := probeURL(cfg.Metrics.Addr)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				target = args[0]
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return probe(ctx, target)
		},
	}
	config.AddFlags(cmd.Flags(), defaults())
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for the answer")
	return cmd
}

// probeURL returns the URL of /healthz at a listen address, for a request from the same machine.
func probeURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("probe: metrics.addr %q: %w", addr, err)
	}
	if port == "0" {
		return "", errors.New("probe: metrics.addr takes a free port: name the URL")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/healthz", nil
}

func probe(ctx context.Context, target string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, probeAnswer))
	return errors.Join(fmt.Errorf("probe: %s answers %s: %q", target, response.Status, strings.TrimSpace(string(body))), err)
}
