package kafka

import "context"

// Start runs a broker for a command, and returns it when it serves. The end of ctx ends only the
// wait; stop stops it, and returns the error that it ended with.
func Start(ctx context.Context, cfg Config, deps Deps) (broker *Broker, stop func() error, err error) {
	if broker, err = New(cfg, deps); err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(running) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	if err := broker.WaitReady(ctx); err != nil {
		_ = stop() // the error is the same, or that of ctx
		return nil, nil, err
	}
	return broker, stop, nil
}
