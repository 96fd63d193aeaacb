package tests

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// exporterAddress is free: the namespace is new.
const exporterAddress = "127.0.0.1:9100"

func TestNodeExporterReportsTheSame(t *testing.T) {
	path, err := exec.LookPath("prometheus-node-exporter")
	require.NoError(t, err, "make test installs it")
	ns := testns.New(t)
	testns.Zoo(t, ns)
	sysfs, mnt := ns.Sysfs(), serve(t, ns)
	assertEqual(t, sysfs, mnt)

	theirs, ours := scrape(t, ns, path, sysfs), scrape(t, ns, path, mnt)
	assert.Equal(t, theirs, ours)
	assert.Contains(t, strings.Join(ours, "\n"), `node_network_mtu_bytes{device="ix-big"} 1500`)
	t.Logf("%d series", len(ours))
}

// scrape runs the exporter on a sysfs and returns the series of its devices.
func scrape(t *testing.T, ns *testns.NS, exporter, sysfs string) []string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, exporter, "--path.sysfs="+sysfs, "--web.listen-address="+exporterAddress,
		"--collector.disable-defaults", "--collector.netclass", "--collector.bonding", "--web.disable-exporter-metrics")
	var log strings.Builder
	cmd.Stderr = &log
	started := make(chan error)
	ended := make(chan struct{})
	go func() {
		// Like a daemon, it may not outlive us, so its thread is kept.
		runtime.LockOSThread()
		defer close(ended)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		var err error
		ns.Do(func() { err = cmd.Start() })
		started <- err
		if err == nil {
			_ = cmd.Wait() // It is killed in the end.
		}
	}()
	require.NoError(t, <-started)
	var page string
	answered := assert.Eventually(t, func() bool {
		var err error
		page, err = get(ns, "http://"+exporterAddress+"/metrics")
		return err == nil
	}, 20*time.Second, 50*time.Millisecond, "the exporter does not answer")
	stop()
	<-ended
	require.True(t, answered, log.String())
	assert.NotContains(t, log.String(), "level=error")
	assert.Contains(t, page, `node_scrape_collector_success{collector="netclass"} 1`)
	var series []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "node_network_") || strings.HasPrefix(line, "node_bonding_") {
			series = append(series, line)
		}
	}
	slices.Sort(series)
	return series
}

// get fetches a page from inside a namespace, where only the socket is made.
func get(ns *testns.NS, url string) (string, error) {
	dial := func(_ context.Context, network, address string) (net.Conn, error) {
		var conn net.Conn
		var err error
		ns.Do(func() { conn, err = net.DialTimeout(network, address, time.Second) })
		return conn, err
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	page, err := io.ReadAll(answer.Body)
	return string(page), err
}
