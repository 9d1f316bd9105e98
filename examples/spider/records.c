/*
 * records: prints the records of a spider, a line each, as "lccrec --tsv" does. lcc-spider(5) describes the record.
 *
 *     cc -O2 -o records records.c && ./records <stream
 *
 * Exit status 65 at the first byte that cannot be of a record, with its offset. A document is never held in memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long offset; /* bytes read so far */
static uint32_t crc_table[256];

static void bad(unsigned long long at, const char *what)
{
    fflush(stdout);
    fprintf(stderr, "records: byte %llu: %s\n", at, what);
    exit(65);
}

/* Reads exactly n bytes; 0: the stream ended before the first of them, where that is permitted. */
static int get(void *to, size_t n, int may_end)
{
    size_t done = fread(to, 1, n, stdin);
    offset += done;
    if (done == n)
        return 1;
    if (done > 0 || !may_end)
        bad(offset, "the stream ends inside of a record");
    return 0;
}

static uint32_t u32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned u16(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static void make_crc_table(void)
{
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t c = n;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        crc_table[n] = c;
    }
}

static int is_reason(int n)
{
    static const char known[] = {0,  2,  10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 30, 31, 32, 33,
                                 34, 35, 36, 40, 41, 42, 43, 44, 45, 50, 51, 52, 53, 54, 55, 60, 63};
    return memchr(known, n, sizeof known) != NULL;
}

/* A letter, then letters, digits, + - and ., then a colon. */
static void check_scheme(const unsigned char *url, unsigned length, unsigned long long at)
{
    unsigned n = 0;
    while (n < length) {
        unsigned char c = url[n];
        int is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && (n == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            break;
        n++;
    }
    if (n == 0 || n == length || url[n] != ':')
        bad(at + n, "the url begins with no scheme");
}

static void print_http(int b)
{
    static const struct { int first, last, byte, others; } rows[] = {
        {100, 103, 1, 9}, {200, 208, 20, 19}, {300, 308, 30, 39}, {400, 451, 40, 92}, {500, 511, 100, 119}};
    if (b == 0) { printf("-"); return; }
    if (b == 253) { printf("0.9"); return; }
    if (b == 254) { printf("other"); return; }
    if (b == 29) { printf("226"); return; }
    for (int i = 0; i < 5; i++) {
        if (b == rows[i].others) { printf("%dxx", rows[i].first / 100); return; }
        if (b >= rows[i].byte && b <= rows[i].byte + rows[i].last - rows[i].first) {
            printf("%d", rows[i].first + b - rows[i].byte);
            return;
        }
    }
    printf("#%d", b);
}

static void print_url(const unsigned char *url, unsigned length)
{
    for (unsigned n = 0; n < length; n++) {
        if (url[n] < 0x21 || url[n] > 0x7e)
            printf("%%%02X", url[n]);
        else
            putchar(url[n]);
    }
}

int main(void)
{
    static unsigned char head[20], urls[2 * 65535], doc[65536];
    make_crc_table();
    for (;;) {
        unsigned long long start = offset;
        if (!get(head, sizeof head, 1))
            return 0;
        unsigned url_len = u16(head + 12), new_len = u16(head + 14);
        uint32_t doc_len = u32(head + 16), crc = 0xffffffffu;
        if (head[4] > 1)
            bad(start + 4, "success is not 0 or 1");
        if (!is_reason(head[5] & 0x3f))
            bad(start + 5, "the reason is reserved");
        if (head[7] != 0)
            bad(start + 7, "the padding is not 0");
        if (url_len == 0)
            bad(start + 12, "there is no url");
        get(urls, url_len + new_len, 0);
        check_scheme(urls, url_len, start + 20);
        if (new_len > 0)
            check_scheme(urls + url_len, new_len, start + 20 + url_len);
        for (uint32_t left = doc_len; left > 0;) {
            size_t n = left < sizeof doc ? left : sizeof doc;
            get(doc, n, 0);
            for (size_t i = 0; i < n; i++)
                crc = crc_table[(crc ^ doc[i]) & 0xff] ^ crc >> 8;
            left -= (uint32_t)n;
        }
        const char *flags[] = {"-", "c", "r", "rc"};
        printf("%lu\t%d\t%d\t%s\t", (unsigned long)u32(head), head[4], head[5] & 0x3f, flags[head[5] >> 6]);
        print_http(head[6]);
        printf("\t%lu\t%lu\t%08lx\t", (unsigned long)u32(head + 8), (unsigned long)doc_len,
               (unsigned long)(crc ^ 0xffffffffu));
        print_url(urls, url_len);
        putchar('\t');
        print_url(urls + url_len, new_len);
        putchar('\n');
    }
}
