#include "cli/media_files.h"

#include <png.h>
#include <sndfile.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "cli/exif.h"

namespace g4::cli {
namespace {
constexpr uint64_t kMaxFileBytes = uint64_t{512} << 20;
constexpr uint64_t kMaxPixels = 100'000'000, kMaxSamples = 64'000'000;

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw Failure(kFailed, name + ": " + problem);
}

void check_pixels(const std::string& name, uint64_t width, uint64_t height) {
  if (width == 0 || height == 0 || width * height > kMaxPixels)
    refuse(name, std::to_string(width) + " x " + std::to_string(height) + " pixels; at most " +
                     std::to_string(kMaxPixels) + " in all are read");
}

Picture decode_png(std::span<const uint8_t> file, const std::string& name) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> cleanup(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0)
    refuse(name, std::string("no readable PNG file: ") + image.message);
  check_pixels(name, image.width, image.height);
  image.format = PNG_FORMAT_RGBA;
  Picture picture{{}, image.width, image.height, 4};
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr) == 0)
    refuse(name, std::string("damaged PNG file: ") + image.message);
  return picture;
}

// As Adobe's programs write it, 255 where there is no ink; in place, from four channels to three.
void cmyk_to_rgb(std::vector<uint8_t>& pixels) {
  const size_t count = pixels.size() / 4;
  for (size_t i = 0; i < count; ++i)
    for (size_t c = 0; c < 3; ++c)
      pixels[3 * i + c] = static_cast<uint8_t>((pixels[4 * i + c] * pixels[4 * i + 3] + 127) / 255);
  pixels.resize(3 * count);
}

Picture decode_jpeg(std::span<const uint8_t> file, const std::string& name) {
  const std::unique_ptr<void, decltype(&tjDestroy)> jpeg(tjInitDecompress(), tjDestroy);
  if (jpeg == nullptr) refuse(name, "no memory for reading JPEG");
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(jpeg.get(), file.data(), static_cast<unsigned long>(file.size()), &width, &height,
                          &subsampling, &colours) != 0)
    refuse(name, std::string("no readable JPEG file: ") + tjGetErrorStr2(jpeg.get()));
  check_pixels(name, static_cast<uint64_t>(width), static_cast<uint64_t>(height));
  const bool is_cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
  Picture picture{{}, static_cast<uint32_t>(width), static_cast<uint32_t>(height), 3};
  picture.pixels.resize((is_cmyk ? size_t{4} : size_t{3}) * picture.width * picture.height);
  if (tjDecompress2(jpeg.get(), file.data(), static_cast<unsigned long>(file.size()), picture.pixels.data(),
                    width, 0, height, is_cmyk ? TJPF_CMYK : TJPF_RGB,
                    TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING) != 0)
    refuse(name, std::string("damaged JPEG file: ") + tjGetErrorStr2(jpeg.get()));
  if (is_cmyk) cmyk_to_rgb(picture.pixels);
  return upright(std::move(picture), exif_orientation(file));
}

// Bytes in memory as libsndfile reads files.
struct MemoryFile {
  std::span<const uint8_t> bytes;
  sf_count_t position = 0;

  static sf_count_t size(void* self) { return static_cast<sf_count_t>(of(self).bytes.size()); }
  static sf_count_t seek(sf_count_t offset, int whence, void* self) {
    MemoryFile& file = of(self);
    const sf_count_t end = size(self);
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.position : end;
    if (offset < -from || offset > end - from) return -1;
    return file.position = from + offset;
  }
  static sf_count_t read(void* out, sf_count_t count, void* self) {
    MemoryFile& file = of(self);
    count = std::clamp<sf_count_t>(count, 0, size(self) - file.position);
    std::memcpy(out, file.bytes.data() + file.position, static_cast<size_t>(count));
    file.position += count;
    return count;
  }
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
  static sf_count_t tell(void* self) { return of(self).position; }
  static MemoryFile& of(void* self) { return *static_cast<MemoryFile*>(self); }
};
}  // namespace

g4_image Picture::view() const {
  g4_image image = G4_INIT(g4_image);
  image.width = width;
  image.height = height;
  image.channel_count = channel_count;
  image.pixels = pixels.data();
  return image;
}

g4_sound Sound::view() const {
  g4_sound sound = G4_INIT(g4_sound);
  sound.sample_type = G4_SAMPLE_F32;
  sound.rate = rate;
  sound.channel_count = channel_count;
  sound.samples = samples.data();
  sound.instant_count = samples.size() / channel_count;
  return sound;
}

std::vector<uint8_t> read_media_file(const std::string& path) {
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  std::vector<uint8_t> bytes;
  constexpr size_t kBlock = size_t{1} << 16;
  size_t count = kBlock;
  while (count == kBlock) {
    bytes.resize(bytes.size() + kBlock);
    count = std::fread(bytes.data() + bytes.size() - kBlock, 1, kBlock, file.get());
    bytes.resize(bytes.size() - kBlock + count);
    if (bytes.size() > kMaxFileBytes) refuse(path, "larger than " + human_bytes(kMaxFileBytes));
  }
  if (std::ferror(file.get()) != 0) refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  return bytes;
}

Picture decode_picture(std::span<const uint8_t> file, const std::string& name) {
  constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G'}, kJpeg[] = {0xff, 0xd8, 0xff};
  const auto begins_with = [&](std::span<const uint8_t> magic) {
    return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin());
  };
  if (begins_with(kPng)) return decode_png(file, name);
  if (begins_with(kJpeg)) return decode_jpeg(file, name);
  refuse(name, "neither a PNG nor a JPEG file");
}

Sound decode_sound(std::span<const uint8_t> file, const std::string& name) {
  MemoryFile memory{file};
  SF_VIRTUAL_IO io = {MemoryFile::size, MemoryFile::seek, MemoryFile::read, MemoryFile::write,
                      MemoryFile::tell};
  SF_INFO info = {};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> sound(sf_open_virtual(&io, SFM_READ, &info, &memory),
                                                            sf_close);
  if (sound == nullptr) refuse(name, std::string("no readable WAV or FLAC file: ") + sf_strerror(nullptr));
  const int format = info.format & SF_FORMAT_TYPEMASK;
  if (format != SF_FORMAT_WAV && format != SF_FORMAT_WAVEX && format != SF_FORMAT_FLAC)
    refuse(name, "neither a WAV nor a FLAC file");
  if (info.frames < 0 || info.channels < 1 || info.samplerate < 1 ||
      static_cast<uint64_t>(info.frames) > kMaxSamples / static_cast<uint64_t>(info.channels))
    refuse(name, "more than " + std::to_string(kMaxSamples) + " samples");
  Sound out{{}, static_cast<uint32_t>(info.samplerate), static_cast<uint32_t>(info.channels)};
  // The header's length may be a lie: memory grows with what is there.
  constexpr sf_count_t kBlock = 65536;
  sf_count_t left = info.frames, count = 1;
  while (left > 0 && count > 0) {
    const size_t held = out.samples.size();
    out.samples.resize(held + static_cast<size_t>(std::min(left, kBlock) * info.channels));
    count = sf_readf_float(sound.get(), out.samples.data() + held, std::min(left, kBlock));
    out.samples.resize(held + static_cast<size_t>(count * info.channels));
    left -= count;
  }
  return out;
}
}  // namespace g4::cli
