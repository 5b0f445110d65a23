/* utf8.c - one code point of UTF-8 in, one out, nothing invalid accepted. */
#include "base/str.h"

#include "base/assert.h"

/* Bytes that a sequence with this lead byte takes; 0 when it cannot lead. */
static int sequence_length(unsigned char lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

int qn_utf8_decode(const char *s, size_t len, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    if (len == 0) {
        return 0;
    }
    int n = sequence_length((unsigned char)s[0]);
    if (n == 0 || (size_t)n > len) {
        return 0;
    }
    uint32_t c = (unsigned char)s[0] & lead_bits[n];
    for (int i = 1; i < n; i++) {
        unsigned char byte = (unsigned char)s[i];
        if ((byte & 0xc0) != 0x80) {
            return 0;
        }
        c = c << 6 | (byte & 0x3fu);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        return 0;
    }
    *code = c;
    return n;
}

int qn_utf8_encode(uint32_t code, char *out)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    QN_ASSERT(code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000));
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--) {
        out[i] = (char)(unsigned char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(unsigned char)(lead[n] | code);
    return n;
}

bool qn_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}
