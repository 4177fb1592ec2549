/*
 * A peer for tests that speaks SCTP over UDP with usrsctp: it opens an association or waits for one,
 * sends and receives messages on several streams at the same time, verifies all that arrives, and
 * closes. Every message is its number in its stream (32 bits) and a pattern made of both.
 *
 * peer connect|listen UDP_PORT REMOTE_UDP_PORT PEER_ADDRESS MEGABYTES STREAMS MESSAGE ADDRESS...
 *
 * An address with a + in front is one that it gets when the association is open.
 *
 * It says "ready" when it can be reached, then "open", a line for each path that changes, and at the
 * end what it received. The exit code is 0 if all of it was right and in order.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <usrsctp.h>

#define SCTP_PORT 7
#define MOST_STREAMS 64
#define MOST_MESSAGE 65536

static struct socket *sock;
static unsigned long to_send;
static unsigned streams;
static size_t message;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void fill(uint8_t *buf, size_t len, unsigned stream, uint32_t number)
{
	uint32_t net = htonl(number);
	memcpy(buf, &net, 4);
	for (size_t i = 4; i < len; i++)
		buf[i] = (uint8_t)(stream * 31 + number * 7 + i);
}

static void *sender(void *unused)
{
	(void)unused;
	uint32_t next[MOST_STREAMS] = {0};
	uint8_t buf[MOST_MESSAGE];
	struct sctp_sndinfo info;
	unsigned long sent = 0;
	for (unsigned turn = 0; sent < to_send; turn++) {
		unsigned stream = turn % streams;
		fill(buf, message, stream, next[stream]++);
		memset(&info, 0, sizeof info);
		info.snd_sid = (uint16_t)stream;
		info.snd_ppid = htonl(51);
		if (usrsctp_sendv(sock, buf, message, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) < 0)
			fail("sendv");
		sent += message;
	}
	return NULL;
}

static void notified(const uint8_t *buf)
{
	const union sctp_notification *note = (const void *)buf;
	if (note->sn_header.sn_type != SCTP_PEER_ADDR_CHANGE)
		return;
	const struct sctp_paddr_change *change = &note->sn_paddr_change;
	const struct sockaddr_in *addr = (const void *)&change->spc_aaddr;
	char text[64];
	const char *state = change->spc_state == SCTP_ADDR_UNREACHABLE ? "down"
			  : change->spc_state == SCTP_ADDR_AVAILABLE   ? "back"
			  : change->spc_state == SCTP_ADDR_CONFIRMED   ? "confirmed"
								       : "other";
	printf("path %s %s\n", inet_ntop(AF_INET, &addr->sin_addr, text, sizeof text), state);
	fflush(stdout);
}

/* Receives and verifies until `expected` bytes are here or the peer closes. */
static int receive(unsigned long expected)
{
	uint32_t next[MOST_STREAMS] = {0};
	static uint8_t buf[2 * MOST_MESSAGE], right[MOST_MESSAGE];
	unsigned long got = 0, wrong = 0;
	size_t have = 0;
	for (;;) {
		struct sctp_rcvinfo info;
		socklen_t info_len = sizeof info, from_len = 0;
		unsigned info_type = 0;
		int flags = 0;
		ssize_t n = usrsctp_recvv(sock, buf + have, sizeof buf - have, NULL, &from_len, &info,
					  &info_len, &info_type, &flags);
		if (n < 0)
			fail("recvv");
		if (n == 0)
			break;
		if (flags & MSG_NOTIFICATION) {
			notified(buf + have);
			continue;
		}
		have += (size_t)n;
		if (!(flags & MSG_EOR))
			continue;
		unsigned stream = info.rcv_sid;
		if (stream >= MOST_STREAMS || have < 4 || have > MOST_MESSAGE) {
			wrong++;
		} else {
			fill(right, have, stream, next[stream]++);
			wrong += memcmp(buf, right, have) != 0;
		}
		got += have;
		have = 0;
		if (got >= expected)
			break;
	}
	printf("received %lu wrong %lu\n", got, wrong);
	fflush(stdout);
	return wrong == 0 && got >= expected;
}

static struct sockaddr_in address(const char *text, unsigned port)
{
	struct sockaddr_in addr;
	memset(&addr, 0, sizeof addr);
	addr.sin_family = AF_INET;
	addr.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, text, &addr.sin_addr) != 1)
		fail(text);
	return addr;
}

static void set(struct socket *s, int level, int name, const void *value, socklen_t len)
{
	if (usrsctp_setsockopt(s, level, name, value, len) < 0)
		fail("setsockopt");
}

/* Binds the addresses that it has from the start, or those that it gets later. */
static void bind_all(int argc, char **argv, unsigned port, int later)
{
	for (int i = 8; i < argc; i++) {
		int is_later = argv[i][0] == '+';
		if (is_later != later)
			continue;
		struct sockaddr_in own = address(argv[i] + is_later, port);
		if (usrsctp_bindx(sock, (struct sockaddr *)&own, 1, SCTP_BINDX_ADD_ADDR) < 0)
			fail("bindx");
	}
}

static void debug(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
}

int main(int argc, char **argv)
{
	if (argc < 9)
		return 2;
	int connects = strcmp(argv[1], "connect") == 0;
	unsigned udp = (unsigned)atoi(argv[2]), remote_udp = (unsigned)atoi(argv[3]);
	to_send = strtoul(argv[5], NULL, 10) * 1000000;
	streams = (unsigned)atoi(argv[6]);
	message = (size_t)atoi(argv[7]);
	if (streams < 1 || streams > MOST_STREAMS || message < 4 || message > MOST_MESSAGE)
		return 2;

	usrsctp_init((uint16_t)udp, NULL, debug);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	usrsctp_sysctl_set_sctp_sendspace(1 << 22);
	usrsctp_sysctl_set_sctp_recvspace(1 << 22);
	usrsctp_sysctl_set_sctp_rto_max_default(8000);
	usrsctp_sysctl_set_sctp_path_rtx_max_default(1);
	usrsctp_sysctl_set_sctp_heartbeat_interval_default(1000);
	sock = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!sock)
		fail("socket");

	int on = 1;
	set(sock, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on);
	set(sock, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on);
	struct sctp_initmsg init;
	memset(&init, 0, sizeof init);
	init.sinit_num_ostreams = init.sinit_max_instreams = MOST_STREAMS;
	set(sock, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init);
	struct sctp_event event;
	memset(&event, 0, sizeof event);
	event.se_assoc_id = SCTP_FUTURE_ASSOC;
	event.se_on = 1;
	event.se_type = SCTP_PEER_ADDR_CHANGE;
	set(sock, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event);
	struct sctp_udpencaps encaps;
	memset(&encaps, 0, sizeof encaps);
	encaps.sue_address.ss_family = AF_INET;
	encaps.sue_port = htons((uint16_t)remote_udp);
	set(sock, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof encaps);

	unsigned port = connects ? 5001 : SCTP_PORT;
	bind_all(argc, argv, port, 0);
	if (connects) {
		struct sockaddr_in to = address(argv[4], SCTP_PORT);
		printf("ready\n");
		fflush(stdout);
		if (usrsctp_connect(sock, (struct sockaddr *)&to, sizeof to) < 0)
			fail("connect");
	} else {
		if (usrsctp_listen(sock, 1) < 0)
			fail("listen");
		printf("ready\n");
		fflush(stdout);
		struct socket *accepted = usrsctp_accept(sock, NULL, NULL);
		if (!accepted)
			fail("accept");
		usrsctp_close(sock);
		sock = accepted;
		set(sock, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on);
	}
	printf("open\n");
	fflush(stdout);
	bind_all(argc, argv, port, 1);

	pthread_t thread;
	if (pthread_create(&thread, NULL, sender, NULL) != 0)
		fail("pthread_create");
	int right = receive(to_send);
	pthread_join(thread, NULL);
	/* Who opened closes; the other waits for that. */
	if (connects && usrsctp_shutdown(sock, SHUT_WR) < 0)
		fail("shutdown");
	uint8_t rest[2048];
	for (;;) {
		struct sctp_rcvinfo info;
		socklen_t info_len = sizeof info, from_len = 0;
		unsigned info_type = 0;
		int flags = 0;
		ssize_t n = usrsctp_recvv(sock, rest, sizeof rest, NULL, &from_len, &info, &info_len,
					  &info_type, &flags);
		if (n < 0)
			fail("recvv at the end");
		if (n == 0)
			break;
		if (flags & MSG_NOTIFICATION)
			notified(rest);
	}
	printf("closed\n");
	fflush(stdout);
	usrsctp_close(sock);
	/* Whoever did not get the SHUTDOWN COMPLETE asks again, and the stack must be there to answer (RFC 9260, section 8.4). */
	usleep(4000000);
	for (int i = 0; i < 100 && usrsctp_finish() != 0; i++)
		usleep(50000);
	return right ? 0 : 1;
}
