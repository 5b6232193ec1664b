package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// maxRead is how long a request may take to arrive.
	maxRead = 10 * time.Second
	// grace is how long requests that were begun have when the server is to end.
	grace = 20 * time.Second
)

// serve answers requests that come to listener until ctx ends. Then it takes no more, and waits for those that it has.
func serve(ctx context.Context, listener net.Listener, h http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: maxRead / 2,
		ReadTimeout:       maxRead,
		WriteTimeout:      maxRead + maxDeadline + maxRead, // it begins with the request
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("shutting down")
	last, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return errors.Join(err, server.Close()) // which cancels what is left
	}
	return nil
}
